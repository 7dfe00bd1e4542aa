from __future__ import annotations

import threading
import time
import uuid

from doxa_client.ids import TimeOrderedIds, new_id


def test_an_id_is_a_version_7_uuid_of_the_present_millisecond() -> None:
    before_ms = time.time_ns() // 1_000_000
    parsed = uuid.UUID(new_id())
    after_ms = time.time_ns() // 1_000_000
    assert (parsed.version, parsed.variant) == (7, uuid.RFC_4122)
    # Ids made earlier in this process may have pushed the sequence ahead by at most a millisecond.
    assert before_ms <= parsed.int >> 80 <= after_ms + 1


def test_the_bits_stand_where_rfc_9562_puts_them() -> None:
    # Counter 0b1…(41 bits) splits into 12 bits after the version and 30 bits after the variant.
    ids = TimeOrderedIds(now_ms=lambda: 0x017F22E279B0, random_bits=lambda bits: (1 << bits) - 1)
    assert ids() == "017f22e2-79b0-77ff-bfff-ffffffffffff"


def test_ids_of_one_millisecond_ascend_as_text() -> None:
    ids = TimeOrderedIds(now_ms=lambda: 1_700_000_000_000)
    made = [ids() for _ in range(10_000)]
    assert made == sorted(made)
    assert len(set(made)) == len(made)


def test_a_clock_set_back_does_not_set_the_order_back() -> None:
    clock = iter([2_000, 1_000, 1_500, 2_001])
    ids = TimeOrderedIds(now_ms=lambda: next(clock))
    made = [ids() for _ in range(4)]
    assert made == sorted(set(made))


def test_a_full_counter_borrows_the_next_millisecond() -> None:
    ids = TimeOrderedIds(now_ms=lambda: 5, random_bits=lambda bits: 0)
    first = ids()
    ids._counter = (1 << 42) - 1
    second, third = ids(), ids()
    assert first < second < third
    assert [uuid.UUID(made).int >> 80 for made in (first, second, third)] == [5, 6, 6]


def test_threads_never_draw_the_same_id() -> None:
    drawn: list[list[str]] = []

    def draw() -> None:
        drawn.append([new_id() for _ in range(2_000)])

    threads = [threading.Thread(target=draw) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(part == sorted(part) for part in drawn)
    assert len({made for part in drawn for made in part}) == 16_000
