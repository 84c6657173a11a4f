"""The module gives the bytes of all golden files, and refuses what the program refuses."""

import collections

import clipper
import numpy as np
import pytest
from conftest import ROOT, arguments_of, assert_same_bits, load, rows, shape_of

KINDS = {"1": "different", "2": "usage", "3": "input", "4": "io", "5": "refused", "6": "not_durable", "7": "cancelled"}


def grouped(name):
    groups = collections.defaultdict(list)
    for row in rows(name):
        groups[row["profile"], row["dtype"]].append(row)
    return groups


CASES = grouped("goldens/cases.tsv")
REFUSALS = grouped("goldens/refused.tsv")


def test_all_goldens_are_tried():
    assert sum(map(len, CASES.values())) == 5279
    assert sum(map(len, REFUSALS.values())) == 1636
    assert {profile for profile, _ in CASES} == set(clipper.profiles())


@pytest.mark.parametrize("profile, dtype", CASES)
def test_goldens(profile, dtype):
    edge = load(ROOT / f"data/edge/{dtype}.npy")
    goldens = load(ROOT / f"data/goldens/{profile}/{dtype}.npy")
    for row in CASES[profile, dtype]:
        shape = shape_of(row["shape"]) or edge.shape
        arguments = arguments_of(row["arguments"])
        expected = goldens[int(row["row"])].reshape(shape)
        x = edge.reshape(shape)
        before = x.copy()
        assert_same_bits(clipper.clip(x, profile=profile, **arguments), expected)
        assert_same_bits(x, before)

        big = x.astype(x.dtype.newbyteorder(">")) if dtype != "bfloat16" else x
        result = clipper.clip(big, profile=profile, **arguments)
        assert result.dtype.byteorder == big.dtype.byteorder
        assert_same_bits(result.astype(x.dtype) if dtype != "bfloat16" else result, expected)

        # Fortran order, every second element of a larger array, and in place.
        spread = np.zeros((*shape[:-1], 2 * shape[-1]), x.dtype)[..., ::2]
        spread[...] = x
        for other in (np.array(x, order="F"), spread):
            assert_same_bits(clipper.clip(other, profile=profile, **arguments), expected)
            assert clipper.clip(other, profile=profile, out=other, **arguments) is other
            assert_same_bits(other, expected)


@pytest.mark.parametrize("profile, dtype", REFUSALS)
def test_refusals(profile, dtype):
    edge = load(ROOT / f"data/edge/{dtype}.npy")
    for row in REFUSALS[profile, dtype]:
        shape = shape_of(row["shape"])
        x = edge[: int(np.prod(shape))].reshape(shape)
        before = x.copy()
        with pytest.raises(clipper.ClipperError) as caught:
            clipper.clip(x, profile=profile, out=x, **arguments_of(row["arguments"]))
        assert caught.value.kind == KINDS[row["exit_code"]], row
        assert row["word"].removeprefix("--").replace("-", "_") in str(caught.value).replace("-", "_"), row
        assert_same_bits(x, before)


def test_numbers_are_text_and_numbers_of_python():
    for row in rows("goldens/cases.tsv"):
        arguments = arguments_of(row["arguments"])
        if row["profile"] != "clipper" or not all(value.isdigit() for value in arguments.values()):
            continue
        edge = load(ROOT / f"data/edge/{row['dtype']}.npy")
        expected = load(ROOT / f"data/goldens/clipper/{row['dtype']}.npy")[int(row["row"])]
        numbers = {name: int(value) for name, value in arguments.items()}
        converts = (int, float, np.int64, np.float64) if max(numbers.values(), default=0) < 2**53 else (int,)
        for convert in converts:
            assert_same_bits(clipper.clip(edge, **{k: convert(v) for k, v in numbers.items()}), expected)


def array_of(cell):
    """"int8;|i1;True;(7, 1, 7);14;49": pool, descr, Fortran order, shape, begin, count."""
    pool, descr, fortran, shape, begin, count = cell.split(";")
    elements = load(ROOT / f"data/arrays/{pool}.npy")[int(begin) : int(begin) + int(count)]
    if pool != "bfloat16":
        elements = elements.astype(elements.dtype.newbyteorder(descr[0].replace("|", "=")))
    return elements.reshape(shape_of(shape), order="F" if fortran == "True" else "C")


def test_arrays_as_parameters():
    tried = 0
    for row in rows("arrays/cases.tsv"):
        files = {f"@{name}.npy": row[name] for name in ("min", "max", "scale", "bias") if row[name]}
        arguments = {
            name: array_of(files[word]) if word in files else word
            for name, word in arguments_of(row["words"]).items()
        }
        x = array_of(row["in"])
        expected = array_of(row["out"])
        result = np.empty_like(x)  # not a scalar, which has no byte order
        assert_same_bits(clipper.clip(x, out=result, **arguments), expected)
        strided = {k: np.repeat(v, 2, axis=-1)[..., ::2] if getattr(v, "ndim", 0) else v for k, v in arguments.items()}
        if x.ndim:
            assert_same_bits(clipper.clip(np.repeat(x, 2, axis=0)[::2], **strided), expected)
        tried += 1
    assert tried > 100
