"""Text can be read on its ground in both colour schemes (WCAG 2.2, level AA: 4.5 to 1)."""

import re
from importlib.resources import files

import pytest

AA_TEXT, AA_GRAPHICS = 4.5, 3.0
TEXTS = ("ink", "soft", "accent", "good", "warn", "bad")
GROUNDS = ("paper", "raised")


def schemes() -> dict[str, dict[str, str]]:
    css = files("dashboards").joinpath("static", "doxa.css").read_text()
    light, dark = re.findall(r":root \{(.*?)\}", css, re.DOTALL)[:2]
    found = {
        name: dict(re.findall(r"--([a-z]+): (#[0-9a-f]{6})", block))
        for name, block in (("light", light), ("dark", dark))
    }
    assert found["light"].keys() == found["dark"].keys()
    return found


def luminance(colour: str) -> float:
    """Relative luminance of a #rrggbb colour (WCAG 2.2, "relative luminance")."""
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    red, green, blue = (
        c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


def test_black_on_white_is_the_greatest_contrast() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("ground", GROUNDS)
@pytest.mark.parametrize("text", TEXTS)
def test_text_stands_out_from_its_ground(scheme: str, ground: str, text: str) -> None:
    colours = schemes()[scheme]
    assert contrast(colours[text], colours[ground]) >= AA_TEXT


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_bar_stands_out_from_its_track(scheme: str) -> None:
    colours = schemes()[scheme]
    assert contrast(colours["accent"], colours["track"]) >= AA_GRAPHICS
