// What a reply says, as numbers and words to show. No document is touched here.

export const percent = (share, digits = 1) => `${(100 * share).toFixed(digits)} %`;

// Three digits that matter: 0.00627 s, 1.23 s, 45.6 s.
export const seconds = (value) => `${Number(value.toPrecision(3))} s`;

// The report's numbers; 64-bit ones are strings in JSON.
export function costOf(reply) {
  const report = reply.report;
  const kept = report.keys_selected_ratio;
  return {
    seconds: report.total_seconds - report.queue_seconds,
    attention: report.attention_cost_ratio,
    keys: [kept.encoder, kept.decoder, kept.cross],
    exit: report.mean_exit,
    exits: report.exit_histogram.map(Number),
    flops: report.decoder_flops_full_depth > 0 ? report.decoder_flops / report.decoder_flops_full_depth : 0,
    memory: Number(report.peak_kv_bytes),
    tokens: report.target_tokens,
  };
}

// [name, value, explanation] of what the page shows under a translation.
export function costCards(reply) {
  const cost = costOf(reply);
  const report = reply.report;
  return [
    ['time', seconds(cost.seconds),
     `queue ${seconds(report.queue_seconds)}, encode ${seconds(report.encode_seconds)}, ` +
     `decode ${seconds(report.decode_seconds)}`],
    ['attention', percent(cost.attention), 'multiply-adds of attention, of dense attention'],
    ['keys read', cost.keys.map((share) => percent(share, 0)).join(' / '), 'encoder / decoder / cross-attention'],
    ['mean exit', `${cost.exit.toFixed(2)} of ${cost.exits.length}`, 'decoder layers of a token'],
    ['decoder FLOPs', percent(cost.flops), 'of those at full depth'],
    ['tokens', `${report.source_tokens} to ${cost.tokens}`, `${report.segments} segments, ${report.chunks} chunks`],
    ['memory for keys', `${(cost.memory / 2 ** 20).toFixed(1)} MiB`, 'at its peak'],
  ];
}

const MARKER = /^⟦\d+⟧$/;         // a piece that stands for a text of the source, or is written as it is
const BYTE = /^<0x([0-9A-F]{2})>$/; // a piece that is a byte of a character

// What each token writes. Of a character in bytes the last one writes it.
function writtenBy(trace) {
  const bytes = new TextDecoder('utf-8', {ignoreBOM: true});
  const texts = [];
  for (const {piece} of trace) {
    const byte = BYTE.exec(piece);
    if (!byte && texts.length > 0) texts[texts.length - 1] += bytes.decode();  // U+FFFD, if a character is incomplete
    texts.push(byte ? bytes.decode(Uint8Array.of(parseInt(byte[1], 16)), {stream: true}) : piece.replaceAll('▁', ' '));
  }
  if (texts.length === 0) return texts;
  texts[texts.length - 1] = (texts[texts.length - 1] + bytes.decode()).trimEnd();
  texts[0] = texts[0].trimStart();
  return texts;
}

// The pieces of a segment, or null if its tokens do not spell it. The tokens between two markers are looked for
// together, and a marker has the text up to them.
function tokensOf(text, trace) {
  const texts = writtenBy(trace);
  const pieces = [];
  let at = 0;         // up to here the text is in pieces
  let marker = null;  // before the next tokens, the first of several
  for (let i = 0, end; i < trace.length; i = end) {
    end = i + 1;
    if (MARKER.test(trace[i].piece)) {
      marker ??= trace[i];
      continue;
    }
    while (end < trace.length && !MARKER.test(trace[end].piece)) ++end;
    const run = texts.slice(i, end).join('');
    let begin = at;
    if (marker) {
      begin = end === trace.length ? text.length - run.length : text.indexOf(run, at + 1);
      if (begin <= at) return null;
      pieces.push({text: text.slice(at, begin), token: marker});
      marker = null;
    }
    if (!text.startsWith(run, begin)) return null;
    for (let t = i; t < end; ++t) {
      if (texts[t] !== '') pieces.push({text: texts[t], token: trace[t]});
    }
    at = begin + run.length;
  }
  if (marker) pieces.push({text: text.slice(at), token: marker});
  return marker || at === text.length ? pieces : null;
}

// The pieces of the translation in order: {text, token}, where `token` is the trace's, or null for what stands between
// segments. A segment that its tokens do not spell is one piece without a token. The first token may not be text: where
// a model has several target languages, it names one.
export function piecesOf(reply) {
  const pieces = [];
  let at = 0;
  for (const segment of reply.segments) {
    const begin = reply.text.indexOf(segment.text, at);
    if (begin < 0) continue;
    if (begin > at) pieces.push({text: reply.text.slice(at, begin), token: null});
    at = begin + segment.text.length;
    pieces.push(...tokensOf(segment.text, segment.trace) ?? tokensOf(segment.text, segment.trace.slice(1)) ??
                [{text: segment.text, token: null}]);
  }
  if (at < reply.text.length) pieces.push({text: reply.text.slice(at), token: null});
  return pieces;
}

// How much of the translation is the same as in another: the share of equal segments.
export function sameShare(reply, other) {
  const all = Math.max(reply.segments.length, other.segments.length);
  const same = reply.segments.filter((segment, i) => segment.text === other.segments[i]?.text).length;
  return all > 0 ? same / all : 1;
}

// What an error reply says, or a reply that is none of ours.
export function errorText(status, body) {
  try {
    const {error} = JSON.parse(body);
    return `${error.status}: ${error.message}`;
  } catch {
    return `HTTP ${status}: ${body.slice(0, 300)}`;
  }
}
