#!/usr/bin/env bash
# Trains the bundled model on a machine with a GPU and no network.
#
#   training/run_gpu.sh pack TRAIN.tsv[.xz] DEV.tsv HELD_OUT.tsv...   here: clean, tokenise, compress into training/pack
#   training/run_gpu.sh start [OUT]      there: train in the background; starts where it stopped if it was interrupted
#   training/run_gpu.sh status [OUT]     there: what it is doing, and the last losses
#   training/run_gpu.sh collect [OUT]    there: waits for the end and says what is in OUT
#   training/run_gpu.sh run [OUT]        there: start and collect in one
#
# OUT (default training/out) gets the exported model in int8 shards of at most 15 MB, logs, ablations and curves; then
# `training/evaluate` on any machine with the built engine measures the model and draws the figures.
#
# MINUTES (default 25) is the whole budget. DEVICE=cpu MINUTES=1 MODEL=small rehearses every stage on a laptop.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

PYTHON=${PYTHON:-python3}
DEVICE=${DEVICE:-cuda}
MINUTES=${MINUTES:-25}
MODEL=${MODEL:-base}
PACK=${PACK:-pack}
command=${1:-help}

say() { printf '%s %s\n' "$(date +%H:%M:%S)" "$*"; }
die() { printf 'run_gpu.sh: %s\n' "$*" >&2; exit 1; }
# share X: X hundredths of the budget, in minutes.
share() { awk -v m="$MINUTES" -v x="$1" 'BEGIN { printf "%.3f", m * x / 100 }'; }

# train PHASE PERCENT NAME [FLAG...]: one phase; does nothing when its checkpoint says that it is over.
train() {
  local phase=$1 percent=$2 name=$3
  shift 3
  say "$name: $(share "$percent") minutes"
  $PYTHON -m salient.train --phase "$phase" --data "$PACK" --device "$DEVICE" --minutes "$(share "$percent")" \
    --out "$OUT/checkpoints/$name.pt" --save-seconds 60 --log-seconds 10 --batch-tokens "$batch" ${compile:-} "$@" \
    | tee -a "$OUT/$name.jsonl" | sed "s/^/  /"
}

# tokens_a_second LOG: what the last line of a log says.
tokens_a_second() { grep -o '"tokens_per_second": [0-9]*' "$1" | tail -1 | grep -o '[0-9]*$'; }

# dev_nll NAME: the last exit's loss on development text after a run.
dev_nll() { grep -o '"dev_nll_[a-z_]*": \[[^]]*\]' "$1" | tail -1 | grep -o '[0-9.]*\]$' | tr -d ']'; }

# Two short runs from scratch each: is compiling worth its start-up, and which feed-forward layout learns faster?
choose() {
  [ -e "$OUT/choice.sh" ] && return
  local config speed=0 name
  compile=
  for name in plain compiled; do
    [ "$name" = compiled ] && compile=--compile
    say "trial: $name"
    $PYTHON -m salient.train --phase base --config "configs/$MODEL.json" --data "$PACK" --device "$DEVICE" --steps 24 \
      --warmup 8 --log-seconds 0 --out "$OUT/checkpoints/trial-$name.pt" --batch-tokens "$batch" $compile >"$OUT/trial-$name.jsonl"
    rm -f "$OUT/checkpoints/trial-$name.pt"
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
  mkdir -p "$OUT/checkpoints"
  batch=${BATCH_TOKENS:-$([ "$DEVICE" = cuda ] && echo 49152 || echo 2048)}
  local full=$batch few=${SELECTION_BATCH_TOKENS:-4096}
  choose
  # shellcheck source=/dev/null
  . "$OUT/choice.sh"
  say "chosen: $config${compile:+, compiled}"
  train base 52 base --config "configs/$config.json"
  compile=  # under selection the attention changes from batch to batch, and compiling it again costs more than it saves
  batch=$((few < full ? few : full))  # all scores of a batch are in memory then
  train supervision 6 supervision --start "$OUT/checkpoints/base.pt"
  train selection 20 selection --start "$OUT/checkpoints/supervision.pt"
  train halting 5 halting --start "$OUT/checkpoints/selection.pt"
  say "exporting"
  $PYTHON -m salient.export --checkpoint "$OUT/checkpoints/halting.pt" --tokenizer "$PACK/tokenizer.model" --calibrate "$PACK" \
    --dtype int8 --shard-mb 15 --window 2048 --out "$OUT/model"
  say "ablations"
  $PYTHON -m salient.ablations selection --data "$PACK" --start "$OUT/checkpoints/base.pt" --out "$OUT/ablations" \
    --device "$DEVICE" --steps "${ABLATION_STEPS:-60}" --batch-tokens "$batch" | tee "$OUT/ablations.md"
  say "done"
}

OUT=${2:-out}
case $command in
  pack)
    [ $# -ge 3 ] || die "pack needs TRAIN.tsv, DEV.tsv and the TSVs that must stay out of training"
    $PYTHON -m salient.prepare --train "$2" --dev "$3" --held-out "${@:3}" --vocab-size "${VOCABULARY:-16000}" --out "$PACK"
    du -sh "$PACK"
    ;;
  start)
    [ -e "$PACK/train.npz" ] || die "$PACK/train.npz is missing: run \`training/run_gpu.sh pack\` where the data is, and bring $PACK along"
    mkdir -p "$OUT"
    if [ -e "$OUT/pid" ] && kill -0 "$(cat "$OUT/pid")" 2>/dev/null; then die "already running, process $(cat "$OUT/pid")"; fi
    rm -f "$OUT/failed" "$OUT/finished"
    export PYTHON DEVICE MINUTES MODEL PACK
    setsid nohup "./$(basename "$0")" stages "$OUT" >>"$OUT/log" 2>&1 </dev/null &
    echo $! >"$OUT/pid"
    say "training in the background; \`training/run_gpu.sh status\` says how far it is"
    ;;
  stages)
    trap '[ $? -eq 0 ] || touch "$OUT/failed"' EXIT
    stages
    touch "$OUT/finished"
    ;;
  status)
    tail -n 4 "$OUT/log"
    ;;
  collect)
    while [ ! -e "$OUT/finished" ]; do
      [ -e "$OUT/failed" ] && { tail -n 20 "$OUT/log" >&2; die "training failed; the log above is $OUT/log"; }
      kill -0 "$(cat "$OUT/pid")" 2>/dev/null || [ -e "$OUT/finished" ] || { tail -n 20 "$OUT/log" >&2; die "stopped before its end"; }
      sleep 2
    done
    tail -n 3 "$OUT/log"
    ls -l "$OUT" "$OUT/model"
    ;;
  run)
    "./$(basename "$0")" start "$OUT" && "./$(basename "$0")" collect "$OUT"
    ;;
  *)
    sed -n '2,/^set -e/{s/^# \{0,1\}//;/^set -e/d;p}' "$(basename "$0")"
    ;;
esac
