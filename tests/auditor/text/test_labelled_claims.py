from pathlib import Path

import pytest

from bench.claims import (
    DEFAULT_DATA,
    Confusion,
    Half,
    confusion,
    finds_inference,
    main,
    read_records,
    results_table,
    tried_table,
)

KNOWLEDGE = "The red fox sleeps in a den near the river."


def write_data(folder: Path) -> None:
    (folder / "begin").mkdir()
    (folder / "faithdial").mkdir()
    (folder / "begin" / "a.tsv").write_text(
        "model_name\tdata_source\tknowledge\tmessage\tresponse\tbegin_label\n"
        f"t5\twow\t{KNOWLEDGE}\thi\tThe red fox sleeps in a den.\tFully attributable\n"
        f"t5\tcmu\t{KNOWLEDGE}\thi\tWolves hunt at night.\tNot fully attributable\n"
        f"t5\tcmu\t{KNOWLEDGE}\thi\tGood point.\tGeneric\n",
        encoding="utf-8",
    )
    (folder / "faithdial" / "CTRL_x.csv").write_text(
        "knowledge,history,ctrl,begin_label,vrm_label\n"
        f'{KNOWLEDGE},hi,The fox sleeps.,"entailment,uncooperative",ack.\n'
        f'{KNOWLEDGE},hi,Foxes eat berries.,"entailment,hallucination",ack.\n',
        encoding="utf-8",
    )
    (folder / "faithdial" / "gold_x.csv").write_text(
        f"evidence,history,response,BEGIN,VRM\n{KNOWLEDGE},hi,Is it?,Uncooperative,Question\n",
        encoding="utf-8",
    )


def test_labels_map_to_inferential_in_context_or_left_out(tmp_path: Path) -> None:
    write_data(tmp_path)
    found = [(r.data_set, r.inferential) for r in read_records(tmp_path)]
    assert found == [
        ("BEGIN, Wizard of Wikipedia", False),
        ("BEGIN, CMU-DoG", True),
        ("BEGIN, CMU-DoG", None),
        ("FaithDial, CTRL", False),
        ("FaithDial, CTRL", True),
        ("FaithDial, gold", None),
    ]


def test_a_confusion_counts_each_labelled_record_once(tmp_path: Path) -> None:
    write_data(tmp_path)
    records = read_records(tmp_path)
    assert confusion(records, finds_inference) == Confusion(2, 0, 0, 2)
    assert confusion(records, lambda record: True) == Confusion(2, 2, 0, 0)
    assert confusion(records, lambda record: True).balanced_accuracy == 0.5
    assert confusion(records, lambda record: True).f1 == 2 / 3


def test_tables_have_a_row_for_every_data_set_and_rule(tmp_path: Path) -> None:
    write_data(tmp_path)
    records = read_records(tmp_path)
    table = results_table(records)
    assert "| BEGIN, CMU-DoG | 1 | 0 | 0 | 0 | 1.000 [0.207, 1.000] |" in table
    assert "| **pooled** | 2 | 0 | 0 | 2 |" in table
    assert "weighted by rarity" in tried_table(records)


def test_absent_data_is_said_and_is_no_error(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--data", str(tmp_path)]) == 0
    assert "not measured" in capsys.readouterr().out


def test_on_the_test_half_precision_and_recall_are_what_the_docs_promise() -> None:
    records = [record for record in read_records(DEFAULT_DATA) if record.half is Half.TEST]
    if not records:
        pytest.skip(f"no labelled claims in {DEFAULT_DATA}")
    found = confusion(records, finds_inference)
    positives = found.true_positive + found.false_negative
    called = found.true_positive + found.false_positive
    # The lower ends of the documented intervals.
    assert found.true_positive / called > 0.88
    assert found.true_positive / positives > 0.65
