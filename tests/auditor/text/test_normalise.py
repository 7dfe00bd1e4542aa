import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from auditor.text.normalise import content_words, context_words, is_exact, stem


def test_words_are_case_folded_stemmed_and_freed_of_function_words() -> None:
    assert content_words("The Flights were CANCELLED by the airline") == {
        "flight",
        "cancel",
        "airlin",
    }


def test_unicode_forms_of_a_word_are_the_same_word() -> None:
    assert content_words("ﬁle \uff23afe\u0301") == content_words("file Café")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("$1,200.00", "1200"),
        ("15th", "15"),
        ("007", "7"),
        ("twenty", "20"),
        ("50lbs", "50 lbs"),
        ("٤٢", "42"),
        ("6:00 PM", "18:00:00"),
        ("6 p.m", "18:00"),
        ("12:30 am", "00:30"),
        ("May 20th, 2024", "2024-05-20"),
        ("20 May 2024", "2024-05-20"),
        ("20th of May", "May 20"),
        ("5/20/2024", "2024-05-20"),
        ("20/5/2024", "2024-05-20"),
        ("Sept. 3, 2024", "3 September 2024"),
        ("flight_number", "flight number"),
        ("a card ending in 7447", "card 7447"),
    ],
)
def test_two_ways_of_writing_the_same_give_the_same_words(one: str, other: str) -> None:
    assert content_words(one) == content_words(other) != frozenset()


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("15th", "16th"),
        ("0.50", "0"),
        ("10", "100"),
        ("1.5", "15"),
        ("6 am", "6 pm"),
        ("2024-05-20", "2024-05-21"),
        ("HAT136", "HAT137"),
        ("allowed", "not allowed"),
    ],
)
def test_what_differs_gives_different_words(one: str, other: str) -> None:
    assert content_words(one) != content_words(other)


@pytest.mark.parametrize(
    "denial",
    ["not allowed", "isn't allowed", "is n't allowed", "cannot be allowed", "never allowed"],
)
def test_a_negation_marks_the_content_word_after_it(denial: str) -> None:
    assert content_words(f"Pets are {denial} here") == {"pet", "not:allow"}


def test_a_negation_does_not_reach_over_punctuation() -> None:
    assert content_words("No, bags fly free") == {"not:", "bag", "fli", "free"}


def test_json_gives_the_words_of_its_keys_and_values() -> None:
    found = context_words('{"flight_number": "HAT136", "date": "2024-05-20", "insurance": "no"}')
    assert {"flight", "number", "hat136", "date:05-20", "2024", "not:insur"} <= found


def test_evidence_also_gives_what_it_implies() -> None:
    found = context_words("TimeDelta on 2024-05-20, gift_card_7447123, fields.py#L1474")
    assert {"time", "delta", "timedelta", "month:05", "7123", "1474"} <= found
    assert content_words("in May 2024") <= found


def test_scripts_without_spaces_are_compared_by_pairs_of_characters() -> None:
    assert content_words("東京都") == {"東京", "京都"}
    assert content_words("東") == {"東"}


def test_numbers_dates_and_identifiers_are_exact_and_words_are_not() -> None:
    assert all(map(is_exact, content_words("HAT136 costs $5 on May 3") - {"cost"}))
    assert not is_exact("cost")


def test_a_very_long_word_is_left_unstemmed() -> None:
    assert stem("running" * 10) == "running" * 10


@given(st.text(max_size=200))
def test_any_text_has_words_and_evidence_holds_at_least_them(text: str) -> None:
    assert content_words(text) <= context_words(text)


@pytest.mark.parametrize(
    "unit", ["1", "1,111", "1.1", "may ", "1 ", "12:", "1/", "Aa", "_a", "n't ", '"a":', "漢"]
)
def test_a_megabyte_of_anything_takes_time_in_proportion(unit: str) -> None:
    def seconds(characters: int) -> float:
        text = unit * (characters // len(unit))
        begun = time.perf_counter()
        context_words(text)
        return time.perf_counter() - begun

    seconds(10_000)
    assert seconds(1_000_000) < 30 * max(seconds(100_000), 0.02)
