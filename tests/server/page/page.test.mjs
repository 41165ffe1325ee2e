// What the tuning page computes, and that its parts fit together. Run by `node --test`.

import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';
import test from 'node:test';

import {axisEnd, exitColour} from '../../../server/page/charts.mjs';
import {costCards, costOf, errorText, percent, piecesOf, sameShare, seconds} from '../../../server/page/report.mjs';
import {commandOf, curlOf, exitValue, fieldOf, optionsOf, requestOf, selectionValue,
        settingsToCompare} from '../../../server/page/settings.mjs';

const SETTING = {model: 'en-de', from: '', to: '', point: '', selection: 'LEARNED', selectionValue: '',
                 exit: 'GEOMETRIC', exitValue: '', beam: '1', shortlist: false, guard: '', key: ''};
const MODEL = {decoder_layers: 4, selection_policies: ['DENSE', 'LEARNED', 'RATIO'],
               depth_policies: ['FULL', 'FIXED', 'GEOMETRIC', 'VERIFY'], has_shortlist: true};
const segment = (text, pieces) => ({
  text, trace: pieces.map((piece) => ({piece, exit_layer: 2, probability: 0.5, selected: []}))});
const URL_OF_PAGE = new URL('http://host:8080/v1/translate');

test('a request has the fields that the setting needs, and no others', () => {
  assert.deepEqual(requestOf(SETTING, 'Hi.'), {
    document: {text: 'Hi.'}, model: 'en-de', selection: {policy: 'LEARNED'}, depth: {policy: 'GEOMETRIC'},
    search: {beam: 1}});
  const own = {...SETTING, from: 'en', to: 'de', selection: 'RATIO', selectionValue: '0.1', exit: 'FIXED',
               exitValue: '2', beam: '4', shortlist: true, guard: 'GUARD_OFF'};
  assert.deepEqual(requestOf(own, ''), {
    document: {text: ''}, model: 'en-de', source_language: 'en', target_language: 'de',
    selection: {policy: 'RATIO', value: 0.1}, depth: {policy: 'FIXED', fixed_exit: 2},
    search: {beam: 4, shortlist: true}, guard: 'GUARD_OFF'});
  assert.deepEqual(requestOf({...SETTING, exit: 'CONFIDENCE', exitValue: '0.8'}, '').depth,
                   {policy: 'CONFIDENCE', thresholds: [0.8]});
  assert.deepEqual(requestOf({...SETTING, exit: 'VERIFY', exitValue: '1'}, '').depth,
                   {policy: 'VERIFY', draft_exit: 1});
  assert.deepEqual(requestOf({...SETTING, point: 'fast'}, ''),
                   {document: {text: ''}, model: 'en-de', operating_point: 'fast'});
});

test('policies that take a number have one', () => {
  assert.equal(selectionValue('DENSE'), null);
  assert.equal(selectionValue('WINDOW').value, 20);
  assert.equal(exitValue('FULL', 4), null);
  assert.equal(exitValue('FIXED', 6).value, 3);
  assert.equal(exitValue('FIXED', 1).value, 1);
  assert.equal(exitValue('GEOMETRIC', 6).value, '', "the server's");
});

test('a value may be left empty where the server has one, and is whole where the server takes no other', () => {
  const field = (value) => [fieldOf(value).required, fieldOf(value).step];
  assert.deepEqual(['RATIO', 'MASS', 'WINDOW'].map(selectionValue).map(field),
                   [[true, 'any'], [true, 'any'], [true, 1]]);
  assert.deepEqual(['FIXED', 'VERIFY', 'GEOMETRIC', 'CONFIDENCE'].map((policy) => field(exitValue(policy, 4))),
                   [[true, 1], [true, 1], [false, 'any'], [false, 'any']]);
  assert.match(exitValue('GEOMETRIC', 4).name, /empty: 0\.5$/);
  assert.match(exitValue('CONFIDENCE', 4).name, /empty: the model's$/);
});

test('the same setting as commands', () => {
  assert.equal(optionsOf({...SETTING, selection: 'RATIO', selectionValue: '0.05', exit: 'FIXED', exitValue: '2'}),
               '--selection ratio:0.05 --exit fixed:2');
  assert.equal(optionsOf({...SETTING, beam: '4', shortlist: true}),
               '--selection learned --exit geometric --beam 4 --shortlist');
  assert.equal(optionsOf({...SETTING, point: 'fast'}), '--operating-point fast');
  const full = {...SETTING, from: 'en', to: 'de', guard: 'GUARD_OFF'};
  assert.equal(commandOf(full, URL_OF_PAGE),
               'salient translate FILE --server host:50051 --model en-de --from en --to de --selection learned ' +
               '--exit geometric --guard off');
  assert.equal(commandOf({...SETTING, to: 'de'}, new URL('https://[::1]:8080/v1/translate')),
               "salient translate FILE --server '[::1]:50051' --tls --model en-de --to de --selection learned " +
               '--exit geometric');
  const curl = curlOf({...SETTING, key: 'secret'}, "It's", URL_OF_PAGE);
  assert.ok(curl.startsWith('curl -s http://host:8080/v1/translate -H "X-API-Key: $SALIENT_API_KEY" -d \''));
  assert.ok(curl.includes("It'\\''s") && !curl.includes('secret'));
});

test('what is not plainly safe in a shell is in quotation marks', () => {
  assert.equal(optionsOf({...SETTING, point: 'x;rm'}), "--operating-point 'x;rm'");
  assert.equal(optionsOf({...SETTING, point: "a'$(b)"}), "--operating-point 'a'\\''$(b)'");
  const command = commandOf({...SETTING, model: 'a b', from: '$x', to: '`y`'}, URL_OF_PAGE);
  assert.ok(command.includes(" --model 'a b' --from '$x' --to '`y`' "), command);
  assert.ok(commandOf({...SETTING, model: ''}, URL_OF_PAGE).includes(" --model '' "));
  assert.ok(curlOf(SETTING, '', new URL('http://host/a&b/v1/translate')).startsWith("curl -s 'http://host/a&b/v1/"));
});

test('settings to compare are those that the model is trained for', () => {
  assert.deepEqual(settingsToCompare(MODEL, {...SETTING, point: 'fast'}).map(optionsOf), [
    '--selection dense --exit full', '--selection learned --exit full', '--selection ratio:0.05 --exit full',
    '--selection learned --exit fixed:2', '--selection learned --exit geometric',
    '--selection learned --exit full --shortlist', '--selection dense --exit full --beam 4']);
  assert.deepEqual(settingsToCompare({...MODEL, selection_policies: ['DENSE'], depth_policies: ['FULL'],
                                      has_shortlist: false}, SETTING).map(optionsOf),
                   ['--selection dense --exit full', '--selection dense --exit full --beam 4']);
});

test('the pieces of a translation spell it', () => {
  const reply = {text: ' Guten Morgen.\n\nJa.', segments: [
    segment('Guten Morgen.', ['▁Gut', 'en', '▁Morgen', '.']), segment('Ja.', ['▁Doch', '.'])]};
  const pieces = piecesOf(reply);
  assert.equal(pieces.map((piece) => piece.text).join(''), reply.text);
  assert.deepEqual(pieces.map((piece) => piece.token !== null), [false, true, true, true, true, false, false],
                   'a segment that its tokens do not spell is shown as it is');
  assert.equal(piecesOf({text: 'Ja.', segments: [segment('Ja.', [])]}).length, 1);
});

// Of one segment: [text, piece] of each token, or null if the tokens do not spell it.
function tokensOf(text, pieces) {
  const shown = piecesOf({text, segments: [segment(text, pieces)]});
  assert.equal(shown.map((one) => one.text).join(''), text);
  return shown[0].token ? shown.map((one) => [one.text, one.token.piece]) : null;
}

test('a character in bytes has the colour of its last byte', () => {
  assert.deepEqual(tokensOf('mail a@b.de', ['▁mail', '▁a', '<0x40>', 'b', '.', 'de']),
                   [['mail', '▁mail'], [' a', '▁a'], ['@', '<0x40>'], ['b', 'b'], ['.', '.'], ['de', 'de']]);
  assert.deepEqual(tokensOf('5 €@', ['▁5', '▁', '<0xE2>', '<0x82>', '<0xAC>', '<0x40>']),
                   [['5', '▁5'], [' ', '▁'], ['€', '<0xAC>'], ['@', '<0x40>']]);
  assert.deepEqual(tokensOf('\ufffdA', ['<0xE2>', 'A']), [['\ufffd', '<0xE2>'], ['A', 'A']], 'half a character');
});

test('a marker has the text that it stands for', () => {
  assert.deepEqual(tokensOf('Es kostet 5 €.', ['▁Es', '▁kostet', '▁', '⟦0⟧', '.']),
                   [['Es', '▁Es'], [' kostet', '▁kostet'], [' ', '▁'], ['5 €', '⟦0⟧'], ['.', '.']]);
  assert.deepEqual(tokensOf('Łukasz und Żubr', ['▁', '⟦0⟧', '▁und', '▁', '⟦2⟧']),
                   [['Łukasz', '⟦0⟧'], [' und', '▁und'], [' ', '▁'], ['Żubr', '⟦2⟧']]);
  assert.deepEqual(tokensOf('⟦0⟧ x', ['▁', '⟦0⟧', '▁x']), [['⟦0⟧', '⟦0⟧'], [' x', '▁x']], 'written as it is');
  assert.deepEqual(tokensOf('a.b. c.', ['⟦0⟧', '.', '▁c', '.']), [['a.b', '⟦0⟧'], ['.', '.'], [' c', '▁c'], ['.', '.']],
                   'the copy may have the next piece in it');
  assert.deepEqual(tokensOf('a.b.', ['⟦0⟧', '.']), [['a.b', '⟦0⟧'], ['.', '.']]);
  assert.deepEqual(tokensOf('.a.b', ['⟦0⟧', '.', '⟦2⟧']), [['.a', '⟦0⟧'], ['.', '.'], ['b', '⟦2⟧']]);
  assert.deepEqual(tokensOf('£€.', ['▁', '⟦0⟧', '⟦2⟧', '.']), [['£€', '⟦0⟧'], ['.', '.']]);
  assert.equal(tokensOf('Es kostet 5 €.', ['▁Es', '⟦0⟧', '!']), null);
  assert.equal(tokensOf('ab', ['▁', '⟦0⟧', 'ab']), null, 'nothing is left for it');
  const many = Array.from({length: 2000}, () => ['⟦0⟧', '▁']).flat();
  assert.equal(tokensOf('a '.repeat(4000).trim(), [...many, '!']), null, 'in time that is not exponential');
});

test('the token of a language, which comes first, is not looked for', () => {
  assert.deepEqual(tokensOf('Ja.', ['__de__', '▁Ja', '.']), [['Ja', '▁Ja'], ['.', '.']]);
});

test('costs are numbers', () => {
  const reply = {report: {
    source_tokens: 3, target_tokens: 4, segments: 1, chunks: 1, queue_seconds: 1, encode_seconds: 0.001,
    decode_seconds: 0.5, total_seconds: 1.25, attention_cost_ratio: 0.5,
    keys_selected_ratio: {encoder: 1, decoder: 0.5, cross: 0.25},
    mean_exit: 1.75, exit_histogram: ['1', '3'], decoder_flops: 5, decoder_flops_full_depth: 10,
    peak_kv_bytes: '1048576'}};
  const cost = costOf(reply);
  assert.equal(cost.seconds, 0.25);
  assert.deepEqual(cost.exits, [1, 3]);
  assert.equal(cost.flops, 0.5);
  assert.ok(costCards(reply).some(([name, value]) => name === 'mean exit' && value === '1.75 of 2'));
  assert.equal(percent(0.123), '12.3 %');
  assert.equal(seconds(0.0062701), '0.00627 s');
});

test('translations are compared by segment', () => {
  const of = (...texts) => ({segments: texts.map((text) => ({text}))});
  assert.equal(sameShare(of('a', 'b'), of('a', 'c')), 0.5);
  assert.equal(sameShare(of(), of()), 1);
});

test('errors are told as the server tells them', () => {
  const body = '{"error": {"code": 3, "status": "INVALID_ARGUMENT", "message": "search.beam: 20"}}';
  assert.equal(errorText(400, body), 'INVALID_ARGUMENT: search.beam: 20');
  assert.equal(errorText(502, '<html>Bad gateway'), 'HTTP 502: <html>Bad gateway');
});

test('axes end at round numbers, and deeper exits are darker', () => {
  assert.deepEqual([0, 0.013, 1, 1.36, 7, 95].map(axisEnd), [1, 0.015, 1, 1.5, 8, 100]);
  assert.notEqual(exitColour(1, 4), exitColour(4, 4));
});

test('the page has every element that the script names, and loads only what is its own', () => {
  const read = (name) => readFileSync(new URL(`../../../server/page/${name}`, import.meta.url), 'utf8');
  const html = read('index.html');
  const ids = new Set([...html.matchAll(/\bid="([^"]+)"/g)].map((match) => match[1]));
  const named = [...read('main.mjs').matchAll(/\$\('([^']+)'\)/g)].map((match) => match[1]);
  for (const name of ['selection', 'exit']) named.push(`${name}-value`, `${name}-value-label`, `${name}-value-name`);
  assert.ok(named.length > 30);
  assert.deepEqual(named.filter((id) => !ids.has(id)), []);
  assert.doesNotMatch(html, /<script>|<style|\son[a-z]+=|style="|https?:/);
});
