"""The agent of `doxa demo`: simulated weeks of which every true ratio is known. No I/O, no clock.

Mix of event types, in percent of all events; the same for any number of events, and held by a test:

| event | share | event | share |
| --- | --- | --- | --- |
| `evidence.retrieved` | 39.3 | `belief.relabelled` | 0.5 |
| `decision.recorded` | 16.6 | `x.heartbeat` | 0.5 |
| `signal.observed` | 15.1 | `contradiction.investigated` | 0.5 |
| `belief.created` | 7.9 | `contradiction.resolved` | 0.4 |
| `gate.decided` | 2.1 | `discriminator.generated` | 0.3 |
| `assertion.made` | 5.1 | `abduction.invoked` | 0.3 |
| `opportunity.detected` | 3.5 | `hypotheses.generated` | 0.3 |
| `inference.outcome` | 1.9 | `abduction.completed` | 0.3 |
| `belief.challenged` | 1.7 | `discriminator.acted_on` | 0.2 |
| `belief.superseded` | 0.9 | `belief.invalidated` | 0.1 |
| `prediction.made` | 0.7 | `contradiction.expired` | 0.1 |
| `contradiction.created` | 0.6 | `contradiction.scoped` | 0.1 |
| `summary.written` | 0.6 | `belief.overwritten` | 0.1 |
| `prediction.scored` | 0.5 |  |  |
"""

from cli.demo.simulation import Batch, Simulation, simulate
from cli.demo.truth import ClaimTruth, Ratio, TrueRatio, TrueWindow, Truth, TurnTruth

__all__ = [
    "Batch",
    "ClaimTruth",
    "Ratio",
    "Simulation",
    "TrueRatio",
    "TrueWindow",
    "Truth",
    "TurnTruth",
    "simulate",
]
