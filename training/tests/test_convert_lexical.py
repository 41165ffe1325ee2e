import struct

import numpy as np
import pytest

from salient.convert.lexical import MAGIC, read_shortlist


def test_lexical_shortlist(tmp_path):
    lists = [[5, 70000], [], [1, 2, 3]]
    offsets = np.cumsum([0] + [len(row) for row in lists]).astype("<u8")
    values = np.array(sum(lists, []), "<u4")
    path = tmp_path / "lex.s2t.bin"
    path.write_bytes(struct.pack("<6Q", MAGIC, 0, 4, 50, 4, len(values)) + offsets.tobytes() + values.tobytes())
    made = read_shortlist(path, 3, 80000, shared=True)
    assert made.tokens.tolist() == [[0, 5, 70000, 0], [1, 0, 0, 0], [2, 1, 2, 3]]
    assert made.common.tolist() == [0, 1, 2, 3]
    made.save(tmp_path / "shortlist.safetensors")
    assert made.load(tmp_path / "shortlist.safetensors").tokens.tolist() == made.tokens.tolist()
    assert made.tokens_for(np.array([0])).tolist() == [1, 2, 3, 5, 70000]
    for bad, message in ((path.read_bytes()[:-1], "needs"), (b"x" * 100, "not a binary one, as marian-conv makes"),
                         (path.read_bytes()[:48] + np.array([0, 9, 2, 5], "<u8").tobytes() + values.tobytes(),
                          "ascend")):
        (tmp_path / "bad.bin").write_bytes(bad)
        with pytest.raises(ValueError, match=message):
            read_shortlist(tmp_path / "bad.bin", 3, 80000, shared=True)
    with pytest.raises(ValueError, match="lists token 70000"):
        read_shortlist(path, 3, 60000, shared=False)


def test_a_shortlist_whose_table_would_be_huge_is_refused(tmp_path):
    offsets, values = np.array([0, 5000] + [5000] * 9, "<u8"), np.zeros(5000, "<u4")
    path = tmp_path / "lex.s2t.bin"
    path.write_bytes(struct.pack("<6Q", MAGIC, 0, 4, 50, 11, 5000) + offsets.tobytes() + values.tobytes())
    with pytest.raises(ValueError, match="more than 4096 tokens"):
        read_shortlist(path, 10, 80000, shared=True)
