import time
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from auditor.text.sentences import MAX_SENTENCE_CHARACTERS, Layout, split_sentences


def texts(output: str) -> list[str]:
    return [sentence.text for sentence in split_sentences(output)]


def test_full_stops_question_and_exclamation_marks_end_a_sentence() -> None:
    assert texts('It failed. Did it? Yes! He said "no." Then left.') == [
        "It failed.",
        "Did it?",
        "Yes!",
        'He said "no."',
        "Then left.",
    ]


def test_a_small_letter_may_begin_a_sentence() -> None:
    assert texts("the bag is free. it weighs 5 kg") == ["the bag is free.", "it weighs 5 kg"]


@pytest.mark.parametrize(
    "whole",
    [
        "Dr. Smith paid approx. 3.5 million to Acme Inc. in the U.S. for it.",
        "Use a cache, e.g. Redis, or a queue, i.e. a list.",
        "See https://example.org/a.b?c=d.e for the file utils.py in v1.2.3 now.",
        "J. R. Tolkien wrote it at 5 p.m. EST on No. 7 Street.",
        "It waited... and then failed.",
    ],
)
def test_abbreviations_decimals_and_addresses_do_not_end_a_sentence(whole: str) -> None:
    assert texts(whole) == [whole]


def test_an_abbreviation_before_a_capitalised_word_can_end_a_sentence() -> None:
    assert texts("It runs on disks, tapes, etc. The rest is lost.") == [
        "It runs on disks, tapes, etc.",
        "The rest is lost.",
    ]


def test_the_word_no_ends_a_sentence_but_the_abbreviation_does_not() -> None:
    assert texts("No. Do you?") == ["No.", "Do you?"]
    assert texts("It is No. 5 there.") == ["It is No. 5 there."]


def test_sentences_run_together_without_a_space_are_cut() -> None:
    assert texts("It returns a message.Next, we look.") == [
        "It returns a message.",
        "Next, we look.",
    ]


def test_list_markers_are_no_sentences_and_not_part_of_one() -> None:
    output = "Details:\n1. **Trip type**: Round trip\n2) Cabin: economy\n- [x] Paid\n* Last one"
    found = split_sentences(output)
    assert [s.text for s in found] == [
        "Details:",
        "**Trip type**: Round trip",
        "Cabin: economy",
        "Paid",
        "Last one",
    ]
    assert [s.layout for s in found[1:]] == [Layout.LIST_ITEM] * 4


def test_wrapped_lines_are_one_sentence_and_separate_lines_are_not() -> None:
    wrapped = "This paragraph was wrapped by an editor at sixty columns and\ngoes on here."
    assert texts(wrapped) == [wrapped]
    assert texts("Cabin: economy\nBags: two") == ["Cabin: economy", "Bags: two"]
    assert len(texts(wrapped.replace("\n", "\n\n"))) == 2


@pytest.mark.parametrize(
    ("output", "layout"),
    [
        ("## Flight details", Layout.HEADING),
        ("**Flight details:**", Layout.HEADING),
        ("| flight | price |", Layout.TABLE_ROW),
        ('{"price": 5,', Layout.CODE),
        ('  "price": 5', Layout.CODE),
        ("[1] See the docs.", Layout.PROSE),
        ("[The docs](https://example.org) say so.", Layout.PROSE),
    ],
)
def test_layout_is_told_from_the_line(output: str, layout: Layout) -> None:
    assert [s.layout for s in split_sentences(output)] == [layout]


def test_a_table_rule_is_no_sentence() -> None:
    assert texts("| a | b |\n|---|---|\n| 1 | 2 |") == ["| a | b |", "| 1 | 2 |"]


def test_code_blocks_stay_whole_with_the_prose_around_them_apart() -> None:
    output = "It fails.\n```python\nx = 1. \nfoo. Bar\n```\nIt works. Good."
    found = split_sentences(output)
    assert [s.layout is Layout.CODE for s in found] == [False, True, False, False]
    assert found[1].text == "```python\nx = 1. \nfoo. Bar\n```"


def test_tagged_commands_and_unclosed_fences_are_code_to_their_end() -> None:
    assert [s.layout for s in split_sentences("Go.\n<command>\nls. A\n</command>\nDone.")] == [
        Layout.PROSE,
        Layout.CODE,
        Layout.PROSE,
    ]
    assert [s.layout for s in split_sentences("Go.\n~~~\nls. A\nfoo. B")] == [
        Layout.PROSE,
        Layout.CODE,
    ]


def test_chinese_japanese_arabic_hindi_and_emoji_are_cut() -> None:
    assert texts("今日は雨です。明日は晴れ\uff01本当\uff1f") == [
        "今日は雨です。",
        "明日は晴れ\uff01",
        "本当\uff1f",
    ]
    assert texts("هل هذا صحيح؟ نعم هذا صحيح.") == ["هل هذا صحيح؟", "نعم هذا صحيح."]
    assert texts("यह सही है। वह गलत है।") == ["यह सही है।", "वह गलत है।"]
    assert texts("Done! 🎉 It works 👍🏽. 😀") == ["Done!", "🎉 It works 👍🏽."]


def test_a_run_without_an_end_is_cut_at_white_space_and_bounded() -> None:
    found = split_sentences("word " * 2_000)
    assert len(found) > 1
    assert all(len(s.text) <= MAX_SENTENCE_CHARACTERS for s in found)
    assert all(s.text.startswith("word") and s.text.endswith("word") for s in found)


@settings(max_examples=300, deadline=None)
@given(
    st.text(
        alphabet=st.sampled_from("aB1 .!?\n\r\t`~#*-|>{}[]()\"':,;。\uff1fé漢🎉\u2028\x00<>/=_"),
        max_size=120,
    )
)
def test_offsets_are_exact_ordered_and_leave_no_letter_out(output: str) -> None:
    found = split_sentences(output)
    for sentence in found:
        assert output[sentence.start : sentence.end] == sentence.text
        assert sentence.text == sentence.text.strip()
    for first, second in pairwise(found):
        assert first.end <= second.start
    covered = {i for s in found for i in range(s.start, s.end)}
    outside = "".join("\x00" if i in covered else c for i, c in enumerate(output))
    # What is left outside holds a letter or digit only as a list marker: "1.", "a)".
    assert not any(
        c.isalnum() and outside[i + 1 : i + 2] not in (".", ")") and not outside[i + 1].isdecimal()
        for i, c in enumerate(outside[:-1])
    )


@pytest.mark.parametrize(
    "unit",
    [
        "a.",
        ". ",
        "```\n",
        "<pre>\n",
        '{"a":\n',
        "[",
        "**",
        "> ",
        "1. ",
        "Mr. ",
        "| ",
        "\n",
        "x\n",
        "漢。",
    ],
)
def test_a_megabyte_of_anything_takes_time_in_proportion(unit: str) -> None:
    def seconds(characters: int) -> float:
        output = unit * (characters // len(unit))
        begun = time.perf_counter()
        split_sentences(output)
        return time.perf_counter() - begun

    seconds(10_000)
    # Ten times the length may take up to thirty times as long; quadratic time takes a hundred.
    assert seconds(1_000_000) < 30 * max(seconds(100_000), 0.02)
