"""Words without quotes: we read and write them as helm does, or a hash of digits is a number for one of us."""

import json
import random
from pathlib import Path

import yaml

from stackwright.adapters.helm import manifests
from stackwright.kube import documents
from tests.charts.conftest import Helm

# The second is how a hash of ours looks; the others have what numbers, dates, answers and addresses are made of.
ALPHABETS = ("0123456789eE", "0123456789e", "0123456789eE+-._", "0123456789abcdefABCDEFxXoO_", "0123456789:-.TZ nNyYf~")
WORDS = 4000
# Out of a number's range: helm prints and reads it as a text.
HASHES = ("12e4567890", "1234e56789", "9e99999999")


def test_a_word_is_read_and_written_as_helm_does(helm: Helm, tmp_path: Path) -> None:
    # The same words each time.
    random_words = random.Random(20261119)  # noqa: S311  nothing secret
    words = {
        "".join(random_words.choices(ALPHABETS[number % len(ALPHABETS)], k=random_words.randint(1, 10)))
        for number in range(WORDS)
    }
    # A dash or a colon at one end, or before a space, makes another thing of a line, and no word.
    plain = [*HASHES, *sorted(word for word in words if not set(word) & set(" :") and word != "-")]
    (tmp_path / "templates").mkdir()
    (tmp_path / "Chart.yaml").write_text("apiVersion: v2\nname: words\nversion: 0.1.0\n")
    (tmp_path / "plain").write_text("".join(f"w{number}: {word}\n" for number, word in enumerate(plain)))
    written = {f"w{number}": word for number, word in enumerate([*HASHES, *sorted(words)])}
    (tmp_path / "values.yaml").write_text(yaml.dump({"words": written}, Dumper=documents.Dumper))
    (tmp_path / "templates" / "all.yaml").write_text(
        'read: {{ .Files.Get "plain" | fromYaml | toJson | quote }}\n'
        "heard: {{ .Values.words | toJson | quote }}\n"
        "printed: {{ .Values.words | toYaml | nindent 2 }}\n"
    )

    (found,) = manifests.objects_of(helm("template", "words", tmp_path))
    (read,) = manifests.objects_of((tmp_path / "plain").read_text())

    assert read == json.loads(found["read"]), "we read a word otherwise than helm"
    assert json.loads(found["heard"]) == written, "helm reads otherwise what we wrote"
    assert found["printed"] == written, "we read otherwise what helm printed"
    assert [read[f"w{number}"] for number in range(len(HASHES))] == list(HASHES)
