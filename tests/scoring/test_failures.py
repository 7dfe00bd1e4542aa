from scoring.failures import LIVE_ONLY, Failure


def test_the_taxonomy_is_closed_and_its_values_are_its_names() -> None:
    assert len(Failure) == 32
    assert all(failure.value == failure.name.lower() for failure in Failure)


def test_only_the_record_shows_laundering_and_overwrites() -> None:
    assert {"provenance_laundering", "silent_overwrite"} == LIVE_ONLY
