// From the form's values to a request, and to the same request as commands. No document is touched here.

// The number that a policy takes: its name, default and range, and `whole` if it has no fraction. It is needed unless
// the default is empty, which leaves the number to the server (engine/options/resolve.cc).
const SELECTION_VALUES = {
  RATIO: {name: 'Share of the tokens, 0 to 1', value: 0.05, min: 0.001, max: 1},
  MASS: {name: 'Share of the probability, 0 to 1', value: 0.9, min: 0.001, max: 1},
  WINDOW: {name: 'Tokens around it', value: 20, min: 1, max: 100000, whole: true},
};

export function selectionValue(policy) {
  return SELECTION_VALUES[policy] ?? null;
}

export function exitValue(policy, layers) {
  const half = Math.max(1, Math.floor(layers / 2));
  return {
    FIXED: {name: 'Layer', value: half, min: 1, max: layers, whole: true},
    GEOMETRIC: {name: 'Threshold, 0 to 1; empty: 0.5', value: '', min: 0, max: 1},
    CONFIDENCE: {name: "Threshold, 0 to 1; empty: the model's", value: '', min: 0, max: 1},
    VERIFY: {name: 'Layer that drafts', value: 1, min: 1, max: Math.max(1, layers - 1), whole: true},
  }[policy] ?? null;
}

// The attributes of the field in which it is typed.
export function fieldOf(value) {
  return {min: value.min, max: value.max, step: value.whole ? 1 : 'any', required: value.value !== ''};
}

// A setting is {model, from, to, point, selection, selectionValue, exit, exitValue, beam, shortlist, guard}: values of
// the form, all of them strings but `shortlist`.
export function requestOf(setting, text) {
  const request = {document: {text}, model: setting.model};
  if (setting.from) request.source_language = setting.from;
  if (setting.to) request.target_language = setting.to;
  if (setting.point) {
    request.operating_point = setting.point;
  } else {
    request.selection = {policy: setting.selection};
    if (selectionValue(setting.selection) && setting.selectionValue !== '') {
      request.selection.value = Number(setting.selectionValue);
    }
    request.depth = {policy: setting.exit};
    if (setting.exitValue !== '') {
      const value = Number(setting.exitValue);
      if (setting.exit === 'FIXED') request.depth.fixed_exit = value;
      if (setting.exit === 'VERIFY') request.depth.draft_exit = value;
      if (setting.exit === 'GEOMETRIC' || setting.exit === 'CONFIDENCE') request.depth.thresholds = [value];
    }
    request.search = {beam: Number(setting.beam || 1)};
    if (setting.shortlist) request.search.shortlist = true;
  }
  if (setting.guard) request.guard = setting.guard;
  return request;
}

// A word of a shell's command, in quotation marks unless it is plainly safe: names are those of a model's folder.
function shellWord(text) {
  return /^[\w.,:\/@+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}

// `url`: where documents are sent to.
export function curlOf(setting, text, url) {
  const key = setting.key ? ' -H "X-API-Key: $SALIENT_API_KEY"' : '';
  return `curl -s ${shellWord(url.href)}${key} -d ${shellWord(JSON.stringify(requestOf(setting, text)))}`;
}

// The options of `salient translate`, which takes policies as "ratio:0.05".
export function optionsOf(setting) {
  if (setting.point) return `--operating-point ${shellWord(setting.point)}`;
  const typed = (policy, value, takes) => shellWord(policy.toLowerCase() + (takes && value !== '' ? `:${value}` : ''));
  let options = `--selection ${typed(setting.selection, setting.selectionValue, selectionValue(setting.selection))}`;
  options += ` --exit ${typed(setting.exit, setting.exitValue, exitValue(setting.exit, 2))}`;
  if (Number(setting.beam) > 1) options += ` --beam ${shellWord(setting.beam)}`;
  if (setting.shortlist) options += ' --shortlist';
  return options;
}

// For the same host, at the port where a server takes gRPC unless it is told another.
export function commandOf(setting, url) {
  const server = ` --server ${shellWord(`${url.hostname}:50051`)}${url.protocol === 'https:' ? ' --tls' : ''}`;
  const from = setting.from ? ` --from ${shellWord(setting.from)}` : '';
  const to = setting.to ? ` --to ${shellWord(setting.to)}` : '';
  const guard = setting.guard ? ` --guard ${setting.guard.slice('GUARD_'.length).toLowerCase()}` : '';
  const model = ` --model ${shellWord(setting.model)}`;
  return `salient translate FILE${server}${model}${from}${to} ${optionsOf(setting)}${guard}`;
}

// One setting of each kind that the model is trained for, dense at full depth first.
export function settingsToCompare(model, common) {
  const setting = (selection, exit, more = {}) => ({
    ...common, point: '', selection, exit, beam: '1', shortlist: false,
    selectionValue: String(selectionValue(selection)?.value ?? ''),
    exitValue: String(exitValue(exit, model.decoder_layers)?.value ?? ''), ...more,
  });
  const learned = model.selection_policies.includes('LEARNED') ? 'LEARNED' : 'DENSE';
  const selections = model.selection_policies.filter((policy) => policy !== 'DENSE');
  const exits = model.depth_policies.filter((policy) => policy !== 'FULL' && policy !== 'VERIFY');
  return [
    setting('DENSE', 'FULL'), ...selections.map((policy) => setting(policy, 'FULL')),
    ...exits.map((policy) => setting(learned, policy)),
    ...(model.has_shortlist ? [setting(learned, 'FULL', {shortlist: true})] : []),
    setting('DENSE', 'FULL', {beam: '4'}),
  ];
}
