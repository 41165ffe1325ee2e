// The page: fills the form from the models, sends requests, and shows the replies.

import {cellBar, exitBars, exitColour, scatter} from './charts.mjs';
import {costCards, costOf, errorText, percent, piecesOf, sameShare, seconds} from './report.mjs';
import {commandOf, curlOf, exitValue, fieldOf, optionsOf, requestOf, selectionValue,
        settingsToCompare} from './settings.mjs';

const SAMPLE = `The server keeps a copy of each document until its translation has been read. If the connection ends \
before that, the copy is deleted.

You can choose how much work is saved. With selection, a token reads only the tokens that matter to it. With early \
exits, easy words are predicted after one or two layers of the decoder, and difficult ones after all of them.`;

const MOST_TRACED = 20000;  // characters of a text whose tokens are shown by exit; a trace is much longer than its text

const $ = (id) => document.getElementById(id);
const form = $('form');
let models = [];
let runs = [];      // {setting, reply} of this page, the first one first
let shown = -1;     // the run whose translation is shown
let waiting = null; // AbortController of the run under way; it is aborted with a text for the reader
let listings = 0;   // requests for the models

function tag(name, text = '', attributes = {}) {
  const made = document.createElement(name);
  made.textContent = text;
  return Object.assign(made, attributes);
}

// Options are [value, text]. What was chosen stays if it is still there; otherwise `preferred` is chosen, or the first.
function fillSelect(select, options, preferred) {
  const wanted = [select.value, preferred].find((one) => options.some(([value]) => value === one));
  select.replaceChildren(...options.map(([value, text]) => tag('option', text, {value})));
  if (wanted !== undefined) select.value = wanted;
}

const modelNamed = (name) => models.find((one) => one.name === name);
const model = () => modelNamed($('model').value);

function settingOfForm() {
  const values = Object.fromEntries(new FormData(form));
  return {point: '', selection: 'DENSE', selectionValue: '', exit: 'FULL', exitValue: '', beam: '1', from: '', to: '',
          guard: '', key: '', ...values, model: $('model').value, shortlist: $('shortlist').checked};
}

async function get(path) {
  const key = $('key').value;
  const reply = await fetch(path, {headers: key ? {'X-API-Key': key} : {}});
  const body = await reply.text();
  if (!reply.ok) throw new Error(errorText(reply.status, body));
  return JSON.parse(body);
}

function showError(text) {
  $('error').textContent = text;
  $('error').hidden = text === '';
}

// A list that comes after a newer one was asked for is dropped. If there is none, the models stay as they were.
async function loadModels() {
  const listing = ++listings;
  try {
    const listed = (await get('v1/models')).models;
    if (listing !== listings) return;
    models = listed;
    showError(models.length > 0 ? '' : 'This server has no model yet.');
  } catch (error) {
    if (listing !== listings) return;
    showError(`${error.message}\nThe models could not be listed. If the server asks for an API key, enter it here.`);
  }
  fillSelect($('model'), models.map((one) => [one.name, one.name]));
  showModel();
}

function showButtons() {
  $('translate').disabled = $('compare').disabled = waiting !== null || !model();
  $('cancel').hidden = waiting === null;
}

function showModel() {
  const one = model();
  showButtons();
  if (!one) return;
  const isKnown = one.d_model > 0;  // it has been loaded
  $('model-facts').textContent = !isKnown ?
    `state: ${one.state.toLowerCase()}. Its policies are shown after its first translation.` :
    `${one.source_language} to ${one.target_language}, ${one.encoder_layers} + ${one.decoder_layers} layers, ` +
    `${(Number(one.parameters) / 1e6).toFixed(1)} M parameters, ${one.device}. ${one.description}`;
  const many = one.source_languages.length > 1 || one.target_languages.length > 1;
  $('languages').hidden = !many;
  fillSelect($('from'), many ? one.source_languages.map((name) => [name, name]) : [['', '']]);
  fillSelect($('to'), many ? one.target_languages.map((name) => [name, name]) : [['', '']]);
  fillSelect($('point'), [['', 'none: choose below'], ...one.operating_points.map((point) => [
    point.name, `${point.name} (${point.bleu.toFixed(1)} BLEU)`])]);
  const policies = (known) => known.map((policy) => [policy, policy.toLowerCase()]);
  fillSelect($('selection'), policies(isKnown ? one.selection_policies : ['DENSE']), 'LEARNED');
  fillSelect($('exit'), policies(isKnown ? one.depth_policies : ['FULL']), 'GEOMETRIC');
  $('shortlist-label').hidden = !one.has_shortlist;
  if (!one.has_shortlist) $('shortlist').checked = false;
  showValues();
  showPoints(one);
  showCommands();
}

function showValues() {
  showValue('selection', selectionValue($('selection').value));
  showValue('exit', exitValue($('exit').value, model().decoder_layers));
}

// What was typed stays while its policy does, unless this model has not so many layers.
function showValue(name, value) {
  const input = $(`${name}-value`);
  const policy = $(name).value;
  $(`${name}-value-label`).hidden = !value;
  $(`${name}-value-name`).textContent = value?.name ?? '';
  Object.assign(input, value ? fieldOf(value) : {required: false});
  if (!value || input.dataset.policy !== policy || Number(input.value) > value.max) input.value = value?.value ?? '';
  input.dataset.policy = policy;
}

function showCommands() {
  $('own').disabled = $('point').value !== '';
  const setting = settingOfForm();
  const url = new URL('v1/translate', document.baseURI);
  $('curl').textContent = curlOf(setting, 'Good morning.', url);
  $('command').textContent = commandOf(setting, url);
}

function withBar(text, share) {
  const made = tag('span', text);
  made.append(cellBar(share));
  return made;
}

function row(cells, kind = 'td') {  // cells are texts or elements
  const made = tag('tr');
  for (const cell of cells) {
    const one = tag(kind);
    one.append(cell);
    made.append(one);
  }
  return made;
}

function fillTable(table, head, rows) {
  const [thead, tbody] = [tag('thead'), tag('tbody')];
  thead.append(row(head, 'th'));
  tbody.append(...rows);
  table.replaceChildren(thead, tbody);
}

function showPoints(one) {
  const points = one.operating_points;
  $('points-section').hidden = points.length === 0;
  if (points.length === 0) return;
  fillTable($('points'), ['name', 'setting', 'BLEU', 'attention', 'mean exit', 's / 1,000 tokens'],
            points.map((point) => row([
              point.name, `${point.selection.policy} ${point.depth.policy}`.toLowerCase(), point.bleu.toFixed(1),
              percent(point.attention_cost_ratio), point.mean_exit.toFixed(2),
              point.seconds_per_1000_tokens.toFixed(2)])));
  $('points-chart').replaceChildren(scatter(
    points.map((point) => ({x: point.seconds_per_1000_tokens, y: point.bleu, name: point.name})),
    'seconds for 1,000 source tokens', 'BLEU'));
}

// A click anywhere in a row shows its run. For the keyboard the row has a button, which keeps the focus.
function showRuns() {
  $('runs-section').hidden = runs.length === 0;
  if (runs.length === 0) return;
  const rowButtons = () => [...$('runs').querySelectorAll('button')];
  const focused = rowButtons().indexOf(document.activeElement);
  const slowest = Math.max(...runs.map((run) => costOf(run.reply).seconds));
  fillTable($('runs'), ['run', 'setting', 'time', 'attention', 'decoder FLOPs', 'mean exit', 'same as run 1'],
            runs.map((run, i) => {
              const cost = costOf(run.reply);
              const button = tag('button', String(i + 1), {type: 'button', title: 'Show this translation'});
              button.setAttribute('aria-pressed', String(i === shown));
              const made = row([
                button, `${run.reply.model} ${optionsOf(run.setting)}`,
                withBar(seconds(cost.seconds), cost.seconds / slowest),
                withBar(percent(cost.attention), cost.attention),
                withBar(percent(cost.flops), cost.flops), cost.exit.toFixed(2),
                percent(sameShare(run.reply, runs[0].reply), 0)]);
              made.className = i === shown ? 'shown' : '';
              made.addEventListener('click', () => showRun(i));
              return made;
            }));
  if (focused >= 0) rowButtons()[focused].focus();
}

function showRun(number) {
  shown = number;
  const {setting, reply} = runs[number];
  const layers = reply.report.exit_histogram.length;
  $('result').hidden = false;
  $('translation').lang = setting.to || (modelNamed(reply.model)?.target_language ?? '');
  $('translation').replaceChildren(...piecesOf(reply).map(({text, token}) => {
    if (!token) return document.createTextNode(text);
    const made = tag('span', text, {className: 'token'});
    made.style.backgroundColor = exitColour(token.exit_layer, layers);
    made.title = `layer ${token.exit_layer} of ${layers}, probability ${token.probability.toFixed(2)}` +
      (token.selected.length > 0 ? `, read ${token.selected.length} source tokens` : '');
    return made;
  }));
  $('legend').replaceChildren(...Array.from({length: layers}, (_, i) => {
    const made = tag('span', `layer ${i + 1}`, {className: 'swatch'});
    made.style.backgroundColor = exitColour(i + 1, layers);
    return made;
  }));
  $('cost').replaceChildren(...costCards(reply).map(([name, value, explanation]) => {
    const made = tag('div', '', {title: explanation});
    made.append(tag('strong', value), tag('span', name));
    return made;
  }));
  $('histogram').replaceChildren(exitBars(costOf(reply).exits));
  showRuns();
}

// Translates with each setting, one after the other. Stops at the first that fails, and when it is aborted. Does
// nothing while another run waits.
async function translate(settings) {
  if (waiting) return;
  const text = $('text').value;
  const run = waiting = new AbortController();
  const focused = document.activeElement;  // a button that is disabled loses the focus
  showError('');
  showButtons();
  const begun = performance.now();
  const tick = () => $('seconds').textContent = `${((performance.now() - begun) / 1000).toFixed(0)} s`;
  const timer = setInterval(tick, 500);
  tick();
  try {
    for (const [i, setting] of settings.entries()) {
      $('status').textContent = settings.length > 1 ? `Setting ${i + 1} of ${settings.length}` : 'Translating';
      const headers = {'Content-Type': 'application/json', ...(setting.key ? {'X-API-Key': setting.key} : {})};
      const body = JSON.stringify({...requestOf(setting, text), trace: text.length <= MOST_TRACED});
      const answer = await fetch('v1/translate', {method: 'POST', headers, body, signal: run.signal});
      const reply = await answer.text();
      // The request has loaded the model, whose languages and policies can be shown now.
      if (modelNamed(setting.model)?.d_model === 0) await loadModels();
      if (run.signal.aborted) break;
      if (!answer.ok) throw new Error(errorText(answer.status, reply));
      runs.push({setting, reply: JSON.parse(reply)});
      showRun(runs.length - 1);
    }
  } catch (error) {
    if (!run.signal.aborted) showError(error.message);
  }
  clearInterval(timer);
  waiting = null;
  $('seconds').textContent = '';
  $('status').textContent = run.signal.aborted ? run.signal.reason : '';
  const lost = [document.body, $('cancel')].includes(document.activeElement);
  showButtons();
  if (lost) focused.focus({preventScroll: true});
}

form.addEventListener('submit', (event) => {
  event.preventDefault();
  translate([settingOfForm()]);
});
$('compare').addEventListener('click', () => {
  if (form.reportValidity()) translate(settingsToCompare(model(), settingOfForm()));
});
$('cancel').addEventListener('click', () => waiting?.abort('Cancelled.'));
$('model').addEventListener('change', showModel);
$('selection').addEventListener('change', showValues);
$('exit').addEventListener('change', showValues);
$('key').addEventListener('change', loadModels);
$('text').addEventListener('input', () => {  // other texts cannot be compared
  waiting?.abort('Cancelled, because the text was changed.');
  runs = [];
  shown = -1;
  $('result').hidden = true;
  showRuns();
});
form.addEventListener('input', showCommands);
form.addEventListener('change', showCommands);
$('text').value = SAMPLE;
showButtons();
loadModels();
