"""The report as Markdown that reads well in a mail."""

import re

from service.reports.presentation import ShownFigure, ShownReport

# Names come from agents: what Markdown would act on is escaped, line breaks are not let through.
_SPECIAL = re.compile(r"([\\`*_{}\[\]<>#|~])")
_BREAKS = re.compile(r"\s*[\r\n]+\s*")


def escape(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _SPECIAL.sub(r"\\\1", _BREAKS.sub(" ", text))


def as_markdown(report: ShownReport) -> str:
    """The whole report."""
    lines = [
        f"# {escape(report.agent)}, week {report.week}",
        "",
        f"{report.days} ({escape(report.time_zone)})",
        "",
        f"**{escape(report.top)}**",
        "",
    ]
    if report.bench is not None:
        lines += [escape(report.bench), ""]
    lines += [escape(report.signature), ""]
    if report.record_ends is not None:
        lines += [report.record_ends, ""]
    for number, figure in enumerate(report.figures, start=1):
        lines += [*_figure(number, figure), ""]
    if report.notes:
        lines += ["## Notes", ""]
        lines += [f"[{i}] {escape(note)}  " for i, note in enumerate(report.notes, start=1)]
        lines.append("")
    lines.append(f"As of {report.as_of}: the same record gives the same report.")
    return "\n".join(lines) + "\n"


def _figure(number: int, figure: ShownFigure) -> list[str]:
    marks = "".join(f" [{mark}]" for mark in figure.notes)
    value = f"**{figure.value}**" + (f" ({figure.basis})" if figure.basis else "")
    facts = [value, *(fact for fact in (figure.word, figure.target) if fact)]
    lines = [f"## {number}. {figure.title}", "", f"{', '.join(facts)}{marks}  "]
    if figure.reason:
        lines = [f"## {number}. {figure.title}", "", f"Not available: {escape(figure.reason)}.  "]
    if figure.spark.last or figure.spark.runs or figure.spark.dots:
        lines.append(f"Four weeks: {figure.spark.words}")
    if figure.parts:
        lines.append("")
    for part in figure.parts:
        extra = [fact for fact in (part.word, f"last week {part.previous}") if part.previous]
        more = f" {'; '.join(one for one in extra if one)}" if extra else ""
        lines.append(f"- {part.title}: {escape(part.text)}{';' if more else ''}{more}")
    if figure.mix:
        lines += ["", f"| {' | '.join(figure.mix_head)} |"]
        lines.append(f"|{' --- |' + ' ---: |' * (len(figure.mix_head) - 1)}")
        lines += [f"| {' | '.join(escape(cell) for cell in row)} |" for row in figure.mix]
    return lines
