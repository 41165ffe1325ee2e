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

// The pieces of the translation in order: {text, token}, where `token` is the trace's, or null for what stands between
// segments. A segment that its tokens do not spell is one piece without a token.
export function piecesOf(reply) {
  const pieces = [];
  let at = 0;
  for (const segment of reply.segments) {
    const begin = reply.text.indexOf(segment.text, at);
    if (begin < 0) continue;
    if (begin > at) pieces.push({text: reply.text.slice(at, begin), token: null});
    at = begin + segment.text.length;
    const texts = segment.trace.map((token) => token.piece.replaceAll('▁', ' '));
    if (texts.length > 0) texts[0] = texts[0].trimStart();
    if (texts.join('').trimEnd() === segment.text) {
      texts.forEach((text, i) => pieces.push({text, token: segment.trace[i]}));
    } else {
      pieces.push({text: segment.text, token: null});
    }
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
