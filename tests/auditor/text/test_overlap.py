from hypothesis import given
from hypothesis import strategies as st

from auditor.text.normalise import content_words
from auditor.text.overlap import (
    MAX_PASSAGE_CHARACTERS,
    MAX_PASSAGES,
    ClaimMemory,
    ContextIndex,
    ContextPiece,
    word_overlap_both_ways,
)


def index(*texts: str) -> ContextIndex:
    return ContextIndex(ContextPiece("memory", str(n), text) for n, text in enumerate(texts))


def test_support_is_the_share_of_content_words_found() -> None:
    support = index("The red fox sleeps.").support(content_words("A red fox jumps far"))
    assert support.score == 2 / 4
    assert support.missing == {"jump", "far"}
    assert [passage.text for passage in support.passages] == ["The red fox sleeps."]


def test_no_context_and_no_words_give_no_support() -> None:
    assert index().support(content_words("red fox")).score == 0
    assert index("red fox").support(frozenset()).score == 0


def test_a_claim_may_draw_on_few_passages_only() -> None:
    words = ["alpha", "bravo", "charlie", "delta", "echo"]
    support = index(*words).support(content_words(" ".join(words)))
    assert len(support.passages) == MAX_PASSAGES
    assert support.score == MAX_PASSAGES / len(words)


def test_the_passage_that_holds_most_comes_first() -> None:
    support = index("red house", "red fox sleeps", "fox").support(content_words("red fox sleeps"))
    assert [passage.piece.id for passage in support.passages] == ["1"]


def test_a_number_in_another_passage_is_not_absent_and_an_unknown_one_is() -> None:
    context = index("alpha bravo", "charlie delta", "echo foxtrot", "golf 152")
    support = context.support(content_words("alpha bravo charlie delta echo foxtrot 152 153"))
    assert "152" in support.missing
    assert support.absent_exact == {"153"}


def test_long_json_is_cut_into_verbatim_passages() -> None:
    text = "[" + ", ".join(f'{{"flight_number": "HAT{n}", "price": {n}}}' for n in range(300)) + "]"
    context = index(text)
    support = context.support(content_words("Flight HAT250 has the price 250"))
    assert support.score == 1
    assert all(p.text in text and len(p.text) <= MAX_PASSAGE_CHARACTERS for p in support.passages)


def test_adding_a_piece_later_gives_the_same_as_adding_it_first() -> None:
    grown = index("red fox")
    grown.add(ContextPiece("memory", "1", "blue whale"))
    words = content_words("red whale swims")
    assert grown.support(words).score == index("red fox", "blue whale").support(words).score


def test_same_words_both_ways_are_one_claim_and_half_of_them_are_not() -> None:
    assert word_overlap_both_ways("The flight leaves at noon", "At noon the flights left") < 1
    assert word_overlap_both_ways("The flight leaves at noon", "Flights leaving at noon") == 1
    assert word_overlap_both_ways("red fox", "red fox jumps at big dogs") == 2 / 5


def test_numbers_dates_and_negations_that_differ_are_never_one_claim() -> None:
    assert word_overlap_both_ways("It leaves on the 15th from gate A", "It leaves on the 16th") == 0
    pets = "Pets are allowed in the cabin of all planes"
    assert word_overlap_both_ways(pets, pets.replace("allowed", "not allowed")) == 0
    assert word_overlap_both_ways(pets, pets + " in 2024") > 0


@given(st.text(max_size=60), st.text(max_size=60))
def test_overlap_is_symmetric_and_a_share(first: str, second: str) -> None:
    overlap = word_overlap_both_ways(first, second)
    assert overlap == word_overlap_both_ways(second, first)
    assert 0 <= overlap <= 1


words = st.frozensets(st.sampled_from("abcdefgh"), min_size=1, max_size=8)


@given(st.lists(words, max_size=12), words)
def test_the_memory_finds_what_comparing_with_every_claim_finds(
    said: list[frozenset[str]], claim: frozenset[str]
) -> None:
    memory = ClaimMemory()
    for earlier in said:
        memory.add(earlier)
    expected = any(len(claim & earlier) / max(len(claim), len(earlier)) >= 0.8 for earlier in said)
    assert memory.holds(claim) is expected
