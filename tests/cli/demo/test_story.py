import random

import pytest

from cli.demo.story import Support, Topic, claim_text, draw_fields
from cli.demo.topics import TOPICS
from tests.cli.demo.wording import content_words

CLAIMS = [
    claim_text(topic, effect, cause)
    for topic in TOPICS
    for effect in range(2)
    for cause in range(3)
]


def context_texts(topic: Topic) -> list[str]:
    fields = draw_fields(random.Random(1), topic)
    hints = [hint for cause in topic.causes for kind in Support if (hint := cause.hint(kind))]
    pools = [
        str(value) for _, pool in topic.fields if not isinstance(pool, range) for value in pool
    ]
    formats = (topic.question, topic.memory, topic.restatement)
    return [*hints, *pools, *(text.format_map(fields) for text in formats), str(fields)]


def test_no_word_of_any_claim_stands_in_any_context() -> None:
    known = content_words(" ".join(text for topic in TOPICS for text in context_texts(topic)))
    for claim in CLAIMS:
        assert content_words(claim) & known == set(), claim


@pytest.mark.parametrize("topic", TOPICS, ids=lambda topic: topic.name)
def test_a_restatement_uses_only_words_of_its_context(topic: Topic) -> None:
    fields = draw_fields(random.Random(2), topic)
    known = content_words(f"{fields} {topic.question.format_map(fields)}")
    words = content_words(topic.restatement.format_map(fields))
    assert words <= known


def test_two_claims_that_differ_share_less_than_four_fifths_of_their_words() -> None:
    for first in CLAIMS:
        for second in CLAIMS:
            if first != second:
                one, other = content_words(first), content_words(second)
                assert len(one & other) / max(len(one), len(other)) < 0.8, (first, second)


def test_every_sentence_is_one_sentence() -> None:
    for topic in TOPICS:
        fields = draw_fields(random.Random(3), topic)
        said = (topic.restatement.format_map(fields), topic.memory.format_map(fields))
        for sentence in (*said, *CLAIMS):
            assert sentence.endswith(".")
            assert sentence.count(".") == 1


def test_an_unsupported_claim_has_no_hint() -> None:
    cause = TOPICS[0].causes[0]
    assert cause.hint(Support.UNSUPPORTED) is None
    assert len({cause.hint(kind) for kind in Support}) == len(Support)
