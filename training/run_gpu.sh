#!/usr/bin/env bash
# Trains and measures the bundled model on a machine with a GPU and no network.
#
#   training/run_gpu.sh pack TRAIN.tsv[.xz] DEV.tsv HELD_OUT.tsv...   here: clean, tokenise, compress into PACK.tar.xz
#   training/run_gpu.sh start [OUT]      there: work in the background; starts where it stopped if it was interrupted
#   training/run_gpu.sh status [OUT]     there: what it is doing, and the last losses
#   training/run_gpu.sh collect [OUT]    there: waits for the end, says what is in OUT, and checks its size
#   training/run_gpu.sh run [OUT]        there: start and collect in one
#
# The pack (PACK, default training/pack) holds the tokens to train on, the held-out documents, and the engine that
# translates them: salient and salient-server from BIN (default build/release/bin) with the libraries they need. What
# travels, PACK.tar.xz, is at most 64 MiB. OUT (default training/out) gets the exported model in int8 shards, the report
# of its quality with all figures, ablations and logs, at most 64 MiB in files of at most 16; checkpoints stay beside
# it, in OUT.work.
#
# The languages are those of configs/MODEL.json (MODEL is base by default), and MODEL-wide.json beside it: English and
# German, unless you change them there.
#
# MINUTES (default 25) has the phases of training (83 %) and two trials of the layout (10 %). Trials of compiling,
# export, evaluation and ablations come on top; the length of the ablations follows it. EVALUATION are the flags of
# `training/evaluate` (default --documents 24).
# DEVICE=cpu MINUTES=1 MODEL=small rehearses every stage on a laptop (MODEL for `pack` too, since it gives the size of
# the vocabulary).
set -euo pipefail

# absolute PATH: as seen from where the command was given.
absolute() { case $1 in /*) printf '%s' "$1" ;; *) printf '%s/%s' "$PWD" "$1" ;; esac; }

here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
script=$here/$(basename "${BASH_SOURCE[0]}")
PYTHON=${PYTHON:-python3}
DEVICE=${DEVICE:-cuda}
MINUTES=${MINUTES:-25}
MODEL=${MODEL:-base}
PACK=$(absolute "${PACK:-$here/pack}")
BIN=$(absolute "${BIN:-$here/../build/release/bin}")
EVALUATION=${EVALUATION:---documents 24}
command=${1:-help}

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }
die() { printf 'run_gpu.sh: %s\n' "$*" >&2; exit 1; }
# scaled X LEAST MOST: X steps a minute of the budget, within bounds.
scaled() {
  awk -v m="$MINUTES" -v x="$1" -v a="$2" -v b="$3" 'BEGIN { n = int(m * x); print (n < a ? a : n > b ? b : n) }'
}
# at_most PATH MIB [FILE_MIB]: dies where a folder, or a file in it, is larger than may travel.
at_most() {
  local size large
  size=$(du -sm --apparent-size "$1" | cut -f1)
  [ "$size" -le "$2" ] || die "$1 is $size MiB, more than the $2 that travel; give it less data or a smaller model"
  large=$(find "$1" -type f -size +"${3:-$2}"M)
  [ -z "$large" ] || die "larger than ${3:-$2} MiB: $large"
}
# field NAME: its value in the model's configuration.
field() { sed -n "s/^  \"$1\": \"\{0,1\}\([^\",]*\).*/\1/p" "$here/configs/$MODEL.json"; }
# running: whether any process of the group that `start` made is left.
running() { [ -e "$OUT/pid" ] && kill -0 -- "-$(cat "$OUT/pid")" 2>/dev/null; }
# bring_programs: the engine into the pack, with every library and the loader, so that it runs on any Linux of this
# architecture. The hash in the starter is what a report tells engines apart by.
bring_programs() {
  local name needed lib=$PACK/bin/lib
  mkdir -p "$lib"
  for name in salient salient-server; do
    [ -x "$BIN/$name" ] || die "$BIN/$name is missing: build it first (README.md), or say where it is: BIN=FOLDER"
    needed=$(ldd "$BIN/$name" | grep -o '/[^ ]*')
    xargs cp -Lt "$lib" "$BIN/$name" <<<"$needed"
    cat >"$PACK/bin/$name" <<STARTER
#!/bin/sh
# sha256 $(sha256sum <"$BIN/$name" | cut -c1-64)
lib=\$(dirname "\$0")/lib
exec "\$lib/$(basename "$(grep /ld-linux <<<"$needed")")" --library-path "\$lib" "\$lib/$name" "\$@"
STARTER
    chmod +x "$PACK/bin/$name"
  done
}
# bring_tests DEV HELD_OUT...: the held-out documents as `training/evaluate` looks for them.
bring_tests() {
  local path
  mkdir -p "$PACK/test/eval"
  cp "$1" "$PACK/test/dev.tsv"
  for path in "${@:2}"; do
    case $(basename "$path") in
      dev*) cp "$path" "$PACK/test" ;;
      *) cp "$path" "$PACK/test/eval" ;;
    esac
  done
}
# share X: X hundredths of the budget, in minutes.
share() { awk -v m="$MINUTES" -v x="$1" 'BEGIN { printf "%.3f", m * x / 100 }'; }

# train PHASE PERCENT NAME [FLAG...]: one phase; does nothing when its checkpoint says that it is over.
train() {
  local phase=$1 percent=$2 name=$3
  shift 3
  say "$name: $(share "$percent") minutes"
  # shellcheck disable=SC2086  # compile is a flag or nothing
  $PYTHON -m salient.train --phase "$phase" --data "$PACK" --device "$DEVICE" --minutes "$(share "$percent")" \
    --out "$WORK/$name.pt" --save-seconds 60 --log-seconds 10 --batch-tokens "$batch" ${compile:-} "$@" \
    | tee -a "$OUT/$name.jsonl" | sed "s/^/  /"
}

# tokens_a_second LOG: what the last line of a log says.
tokens_a_second() { grep -o '"tokens_per_second": [0-9]*' "$1" | tail -1 | grep -o '[0-9]*$'; }

# dev_nll NAME: the last exit's loss on development text after a run.
dev_nll() { grep -o '"dev_nll_by_exit": \[[^]]*\]' "$1" | tail -1 | grep -o '[0-9.]*\]$' | tr -d ']'; }

# Two short runs from scratch each: is compiling worth its start-up, and which feed-forward layout learns faster?
choose() {
  [ -e "$OUT/choice.sh" ] && return
  local config speed=0 name
  compile=
  for name in plain compiled; do
    [ "$name" = compiled ] && compile=--compile
    say "trial: $name"
    $PYTHON -m salient.train --phase base --config "configs/$MODEL.json" --data "$PACK" --device "$DEVICE" \
      --steps "$(scaled 1 4 24)" --warmup 8 --log-seconds 0 --out "$WORK/trial-$name.pt" --batch-tokens "$batch" \
      $compile >"$OUT/trial-$name.jsonl"
    rm -f "$WORK/trial-$name.pt"
    say "trial: $name: $(tokens_a_second "$OUT/trial-$name.jsonl") target tokens a second"
    if [ "$(tokens_a_second "$OUT/trial-$name.jsonl")" -gt "$speed" ]; then
      speed=$(tokens_a_second "$OUT/trial-$name.jsonl")
      [ "$name" = compiled ] && best_compile=--compile || best_compile=
    fi
  done
  compile=$best_compile
  for config in "$MODEL" "$MODEL-wide"; do
    train base 5 "choice-$config" --config "configs/$config.json"
    say "choice: $config: $(dev_nll "$OUT/choice-$config.jsonl") nats a token"
  done
  config=$(awk -v a="$(dev_nll "$OUT/choice-$MODEL.jsonl")" -v b="$(dev_nll "$OUT/choice-$MODEL-wide.jsonl")" \
    -v m="$MODEL" 'BEGIN { print (b < a) ? m "-wide" : m }')
  printf 'config=%s\ncompile=%s\n' "$config" "$compile" >"$OUT/choice.sh"
}

stages() {
  mkdir -p "$WORK"
  batch=${BATCH_TOKENS:-$([ "$DEVICE" = cuda ] && echo 49152 || echo 2048)}
  local few=${SELECTION_BATCH_TOKENS:-4096} name
  choose
  # shellcheck source=/dev/null
  . "$OUT/choice.sh"
  say "chosen: $config${compile:+, compiled}"
  train base 38 base --config "configs/$config.json"
  compile=  # under selection the attention changes from batch to batch, and compiling it again costs more than it saves
  batch=$((few < batch ? few : batch))  # all scores of a batch are in memory then
  train supervision 4 supervision --start "$WORK/base.pt"
  train selection 12 selection --start "$WORK/supervision.pt"
  train depth 23 depth --start "$WORK/selection.pt"
  train supervision 3 supervision-again --start "$WORK/depth.pt"
  train halting 3 halting --start "$WORK/supervision-again.pt"
  say "exporting"
  $PYTHON -m salient.export --checkpoint "$WORK/halting.pt" --tokenizer "$PACK/tokenizer.model" --calibrate "$PACK" \
    --dtype int8 --shard-mb 15 --chunk-tokens 2048 --out "$OUT/model"
  $PYTHON -m salient.shortlist --data "$PACK" --out "$OUT/model/shortlist.safetensors"
  say "evaluation"
  # shellcheck disable=SC2086  # several flags
  ./evaluate --bin "$PACK/bin" --model "$OUT/model" --data "$PACK/test" --out "$OUT/quality" --work "$WORK/evaluation" \
    $EVALUATION
  mv "$OUT/quality/operating_points.json" "$OUT/model"
  say "ablations"
  $PYTHON -m salient.ablations selection --data "$PACK" --start "$WORK/base.pt" --out "$WORK/ablations" \
    --device "$DEVICE" --steps "${ABLATION_STEPS:-$(scaled 2.4 2 60)}" --batch-tokens "$batch"
  cp "$WORK/ablations/ablations.md" "$WORK/ablations/selection.json" "$OUT"
  say "done"
}

OUT=$(absolute "${2:-$here/out}")
WORK=$OUT.work
case $command in
  pack)
    [ $# -ge 3 ] || die "pack needs TRAIN.tsv, DEV.tsv and the TSVs that must stay out of training"
    texts=()
    for path in "${@:2}"; do texts+=("$(absolute "$path")"); done
    cd "$here"
    $PYTHON -m salient.prepare --train "${texts[0]}" --dev "${texts[1]}" --held-out "${texts[@]:1}" \
      --vocab-size "$(field vocab_size)" --source-language "$(field source_language)" \
      --target-language "$(field target_language)" --out "$PACK"
    bring_tests "${texts[@]:1}"
    bring_programs
    say "compressing"
    XZ_OPT=-T0 tar -C "$PACK" -cJf "$PACK.tar.xz" .
    at_most "$PACK.tar.xz" 64
    du -h "$PACK.tar.xz"
    ;;
  start)
    if [ ! -e "$PACK/train.npz" ]; then
      [ -e "$PACK.tar.xz" ] || die "$PACK.tar.xz is missing: run \`$0 pack\` where the data is, and bring it along"
      [ ! -e "$PACK" ] || die "$PACK is there without its train.npz: remove it, and it is unpacked anew"
      say "unpacking"
      rm -rf "$PACK.part"  # of a start that was killed
      $PYTHON -m tarfile -e "$PACK.tar.xz" "$PACK.part"
      mv "$PACK.part" "$PACK"
    fi
    mkdir -p "$OUT"
    if running; then die "already running, process group $(cat "$OUT/pid")"; fi
    rm -f "$OUT/failed" "$OUT/finished"
    export PYTHON DEVICE MINUTES MODEL PACK EVALUATION
    setsid nohup "$script" stages "$OUT" >>"$OUT/log" 2>&1 </dev/null &
    echo $! >"$OUT/pid"
    say "training in the background; \`training/run_gpu.sh status\` says how far it is"
    ;;
  stages)
    trap '[ $? -eq 0 ] || touch "$OUT/failed"' EXIT
    cd "$here"
    stages
    touch "$OUT/finished"
    ;;
  status)
    tail -n 4 "$OUT/log"
    ;;
  collect)
    while [ ! -e "$OUT/finished" ]; do
      [ -e "$OUT/failed" ] && { tail -n 20 "$OUT/log" >&2; die "training failed; the log above is $OUT/log"; }
      running || [ -e "$OUT/finished" ] || { tail -n 20 "$OUT/log" >&2; die "stopped before its end; start it again"; }
      sleep 1
    done
    tail -n 3 "$OUT/log"
    ls -l "$OUT" "$OUT/model" "$OUT/quality"
    at_most "$OUT" 64 16
    ;;
  run)
    "$script" start "$OUT" && "$script" collect "$OUT"
    ;;
  *)
    sed -n '2,/^set -e/{s/^# \{0,1\}//;/^set -e/d;p}' "$script"
    ;;
esac
