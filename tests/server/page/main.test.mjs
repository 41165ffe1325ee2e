// What the tuning page does when it is used: its events, and replies that come late. Run by `node --test`.

import assert from 'node:assert/strict';
import test from 'node:test';

import {openPage, settle} from './browser.mjs';

const MODEL = {
  name: 'en-de', source_language: 'en', target_language: 'de', source_languages: ['en'], target_languages: ['de'],
  encoder_layers: 6, decoder_layers: 4, d_model: 256, parameters: '20000000', device: 'cpu', description: '',
  selection_policies: ['DENSE', 'LEARNED', 'RATIO', 'WINDOW'], has_shortlist: false, operating_points: [],
  depth_policies: ['FULL', 'FIXED', 'GEOMETRIC', 'VERIFY'], state: 'SERVING'};
const ENGLISH_PORTUGUESE = {...MODEL, name: 'en-pt', target_language: 'pt', target_languages: ['pt']};
const UNLOADED = {
  name: 'new', source_language: '', target_language: '', source_languages: [], target_languages: [], encoder_layers: 0,
  decoder_layers: 0, d_model: 0, parameters: '0', device: '', description: '', selection_policies: [],
  has_shortlist: false, operating_points: [], depth_policies: [], state: 'LOADING'};

const reply = (text, model = 'en-de') => ({
  text, model, segments: [{text, trace: []}],
  report: {source_tokens: 3, target_tokens: 4, segments: 1, chunks: 1, queue_seconds: 0, encode_seconds: 0.1,
           decode_seconds: 0.1, total_seconds: 0.2, attention_cost_ratio: 1, mean_exit: 4, peak_kv_bytes: '0',
           keys_selected_ratio: {encoder: 1, decoder: 1, cross: 1}, exit_histogram: ['0', '0', '0', '4'],
           decoder_flops: 1, decoder_flops_full_depth: 1}});
const translations = (requests) => requests.filter((request) => request.path === 'v1/translate');
const buttonsOf = ($) => [$('translate').disabled, $('compare').disabled, $('cancel').hidden];
const [READY, BUSY] = [[false, false, true], [true, true, false]];

test('a text that is edited during a run ends the run, whose reply is shown nowhere', async () => {
  const {$, requests} = await openPage([MODEL]);
  $('translate').click();
  const [late] = translations(requests);
  const answered = late.answer(reply('Alt.'));  // on its way while the text is typed
  $('text').type('Another text.');
  await answered;
  assert.equal($('runs-section').hidden, true);
  assert.equal($('result').hidden, true);
  assert.deepEqual(buttonsOf($), READY);
  assert.match($('status').textContent, /text was changed/);

  $('translate').click();
  $('text').type('A third text.');
  await settle();
  assert.deepEqual(translations(requests), [], 'the request is aborted');

  $('translate').click();
  await translations(requests)[0].answer(reply('Neu.'));
  assert.equal($('runs').querySelectorAll('button').length, 1);
  assert.equal($('translation').textContent, 'Neu.');
  assert.equal($('status').textContent, '');
});

test('an error that comes after the text was edited is not shown', async () => {
  const {$, requests} = await openPage([MODEL]);
  $('translate').click();
  const answered = translations(requests)[0].answer({error: {status: 'INTERNAL', message: 'old'}}, 500);
  $('text').type('Another text.');
  await answered;
  assert.equal($('error').hidden, true);
});

test('there is one run at a time, whatever is changed meanwhile', async () => {
  const {$, requests} = await openPage([MODEL, ENGLISH_PORTUGUESE]);
  $('translate').click();
  assert.deepEqual(buttonsOf($), BUSY);
  $('model').type('en-pt');
  $('key').type('secret');
  await requests.find((request) => request.path === 'v1/models').answer({models: [MODEL, ENGLISH_PORTUGUESE]});
  assert.deepEqual(buttonsOf($), BUSY);
  $('form').dispatch('submit');
  assert.equal(translations(requests).length, 1);
  $('cancel').click();
  await settle();
  assert.equal(requests.length, 0);
  assert.deepEqual(buttonsOf($), READY);
  assert.equal($('status').textContent, 'Cancelled.');
  assert.equal($('error').hidden, true);
});

test('what was chosen and typed stays when the models are listed again', async () => {
  const {$, requests} = await openPage([MODEL, {...ENGLISH_PORTUGUESE, decoder_layers: 2}]);
  $('selection').type('RATIO');
  assert.equal($('selection-value').value, '0.05');
  $('selection-value').type('0.2');
  $('exit').type('FIXED');
  $('exit-value').type('4');
  $('key').type('secret');
  assert.equal(requests[0].headers['X-API-Key'], 'secret');
  await requests[0].answer({models: [MODEL, {...ENGLISH_PORTUGUESE, decoder_layers: 2}]});
  assert.deepEqual([$('selection').value, $('selection-value').value], ['RATIO', '0.2']);
  assert.deepEqual([$('exit').value, $('exit-value').value], ['FIXED', '4']);
  $('model').type('en-pt');
  assert.equal($('selection-value').value, '0.2');
  assert.equal($('exit-value').value, '1', 'it has no fourth layer');
  $('selection').type('WINDOW');
  assert.equal($('selection-value').value, '20');
});

test('models stay when they cannot be listed again, and a list that comes late is dropped', async () => {
  const {$, requests} = await openPage([MODEL]);
  $('key').type('first');
  $('key').type('second');
  const [first, second] = requests;
  await second.answer({models: [MODEL, ENGLISH_PORTUGUESE]});
  await first.answer({error: {status: 'UNAUTHENTICATED', message: 'no such key'}}, 401);
  assert.equal($('error').hidden, true);
  assert.equal($('model').children.length, 2);
  $('key').type('third');
  $('key').type('fourth');
  const [third, fourth] = requests;
  await fourth.answer({models: [MODEL, ENGLISH_PORTUGUESE]});
  await third.answer({models: []});
  assert.equal($('model').children.length, 2);
  $('key').type('fifth');
  await requests[0].answer({error: {status: 'UNAUTHENTICATED', message: 'no such key'}}, 401);
  assert.match($('error').textContent, /no such key/);
  assert.equal($('model').children.length, 2);
});

test('a policy whose value the server needs is not sent without it', async () => {
  const {$} = await openPage([MODEL]);
  $('selection').type('WINDOW');
  assert.equal($('selection-value').step, 1);
  $('selection-value').type('');
  assert.equal($('form').reportValidity(), false);
  $('selection').type('DENSE');
  assert.equal($('form').reportValidity(), true);
  $('exit').type('GEOMETRIC');
  assert.equal($('exit-value').value, '');
  assert.equal($('form').reportValidity(), true);
});

test('policies of a model that is loaded by its first translation are shown then', async () => {
  const {$, requests} = await openPage([MODEL, UNLOADED]);
  const policies = () => $('selection').children.map((option) => option.value);
  $('model').type('new');
  $('guard').type('GUARD_REPORT');
  assert.deepEqual(policies(), ['DENSE'], 'every model has it');
  $('translate').click();
  const [request] = translations(requests);
  assert.deepEqual([request.body.selection.policy, request.body.depth.policy], ['DENSE', 'FULL']);
  await request.answer(reply('Novo.', 'new'));
  await requests[0].answer({models: [MODEL, {...ENGLISH_PORTUGUESE, name: 'new'}]});
  assert.deepEqual([$('model').value, $('selection').value, $('guard').value], ['new', 'DENSE', 'GUARD_REPORT']);
  assert.deepEqual(policies(), MODEL.selection_policies);
  assert.equal($('translation').textContent, 'Novo.');
  assert.equal($('translation').lang, 'pt');
  assert.deepEqual(buttonsOf($), READY);

  $('translate').click();
  await translations(requests)[0].answer(reply('Novo.', 'new'));
  assert.equal(requests.length, 0, 'it is known now');
});

test('a model of several languages that is not loaded shows its languages after it refused a request without them',
     async () => {
       const {$, requests} = await openPage([UNLOADED]);
       $('translate').click();
       await requests[0].answer({error: {status: 'INVALID_ARGUMENT', message: 'target_language is missing'}}, 400);
       await requests[0].answer({models: [{...MODEL, name: 'new', target_languages: ['de', 'pt']}]});
       assert.equal($('languages').hidden, false);
       assert.match($('error').textContent, /target_language is missing/);
     });

test('a translation is in the language of its run', async () => {
  const many = {...MODEL, name: 'many', target_language: 'mul', target_languages: ['de', 'pt']};
  const {$, requests} = await openPage([MODEL, many]);
  $('translate').click();
  $('model').type('many');
  $('to').type('pt');
  await translations(requests)[0].answer(reply('Ja.'));
  assert.equal($('translation').lang, 'de');
  $('translate').click();
  $('model').type('en-de');
  await translations(requests)[0].answer(reply('Sim.', 'many'));
  assert.equal($('translation').lang, 'pt');
  $('runs').querySelectorAll('button')[0].click();
  assert.equal($('translation').lang, 'de');
});

test('settings are compared one after the other until one fails', async () => {
  const {$, requests} = await openPage([MODEL]);
  $('compare').click();
  assert.match($('status').textContent, /^Setting 1 of \d$/);
  await translations(requests)[0].answer(reply('Ja.'));
  assert.match($('status').textContent, /^Setting 2 of \d$/);
  await translations(requests)[0].answer({error: {status: 'UNAVAILABLE', message: 'it drains'}}, 503);
  assert.equal($('error').textContent, 'UNAVAILABLE: it drains');
  assert.equal($('runs').querySelectorAll('button').length, 1);
  assert.equal(requests.length, 0);
  assert.deepEqual(buttonsOf($), READY);
});

test('runs are chosen with the keyboard, and the focus is not lost', async () => {
  const {$, requests} = await openPage([MODEL]);
  for (const text of ['Eins.', 'Zwei.']) {
    $('translate').click();
    await translations(requests)[0].answer(reply(text));
    assert.equal(document.activeElement, $('translate'), 'it was disabled while the run waited');
  }
  const rows = () => $('runs').querySelectorAll('button');
  rows()[0].click();
  assert.equal($('translation').textContent, 'Eins.');
  assert.equal(document.activeElement, rows()[0]);
  assert.deepEqual(rows().map((button) => button.getAttribute('aria-pressed')), ['true', 'false']);
  $('translate').click();
  $('cancel').click();
  await settle();
  assert.equal(document.activeElement, $('translate'), 'Cancel is hidden');
});

test('commands are those of the form', async () => {
  const {$} = await openPage([{...MODEL, operating_points: [{
    name: 'x;rm', selection: {policy: 'DENSE'}, depth: {policy: 'FULL'}, bleu: 40, attention_cost_ratio: 1,
    mean_exit: 4, seconds_per_1000_tokens: 1}]}]);
  $('point').type('x;rm');
  assert.equal($('command').textContent,
               "salient translate FILE --server host:50051 --model en-de --operating-point 'x;rm'");
  assert.ok($('curl').textContent.startsWith("curl -s http://host:8080/v1/translate -d '{"));
});
