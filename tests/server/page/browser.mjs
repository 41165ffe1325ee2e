// As much of a browser as the page needs: its elements, events, focus and form, and a server in the test's hand.

import {readFileSync} from 'node:fs';
import timers from 'node:timers';

const HTML = readFileSync(new URL('../../../server/page/index.html', import.meta.url), 'utf8');
const VOID = ['meta', 'link', 'input'];
let opened = 0;

class Element {
  constructor(name, attributes = {}) {
    Object.assign(this, {name, attributes, parent: null, nodes: [], listeners: [], dataset: {}, style: {}});
    Object.assign(this, {hidden: 'hidden' in attributes, disabled: false, required: 'required' in attributes});
    this.typed = attributes.value ?? '';
  }
  get children() { return this.nodes.filter((node) => node instanceof Element); }
  get descendants() { return this.children.flatMap((child) => [child, ...child.descendants]); }
  get ancestors() { return this.parent ? [this.parent, ...this.parent.ancestors] : []; }
  get isOff() { return [this, ...this.ancestors].some((one) => one.disabled); }
  get isUsable() { return !this.isOff && ![this, ...this.ancestors].some((one) => one.hidden); }

  get textContent() { return this.nodes.map((node) => node.textContent ?? node).join(''); }
  set textContent(text) { this.replaceChildren(...text === '' ? [] : [String(text)]); }

  // A select's value is one of its options', the first if none was chosen.
  get value() { return this.name === 'select' ? this.chosen ?? this.children[0]?.value ?? '' : this.typed; }
  set value(value) {
    this.typed = String(value);
    if (this.name === 'select') this.chosen = this.children.find((option) => option.value === this.typed)?.value ?? '';
  }

  append(...nodes) {
    for (const node of nodes) if (node instanceof Element) node.parent = this;
    this.nodes.push(...nodes);
  }
  replaceChildren(...nodes) {
    for (const child of this.children) child.parent = null;
    this.nodes = [];
    this.chosen = undefined;
    this.append(...nodes);
  }
  setAttribute(name, value) { this.attributes[name] = String(value); }
  getAttribute(name) { return this.attributes[name] ?? null; }
  querySelectorAll(name) { return this.descendants.filter((one) => one.name === name); }
  focus() { document.focused = this; }
  // A field that is hidden is looked at, too.
  reportValidity() { return this.descendants.every((one) => !one.required || one.isOff || one.value !== ''); }

  addEventListener(type, listener) { this.listeners.push({type, listener}); }
  dispatch(type) {
    for (const one of [this, ...this.ancestors]) {
      for (const {type: heard, listener} of one.listeners) if (heard === type) listener({preventDefault() {}});
    }
  }
  click() {
    if (!this.isUsable) return;
    this.focus();
    this.dispatch(this.attributes.type === 'submit' ? 'submit' : 'click');
  }
  type(value) {  // or choose
    this.value = value;
    this.dispatch('input');
    this.dispatch('change');
  }
}

function parse(html) {
  const root = new Element('document');
  const open = [root];
  for (const [, closing, name, rest, text] of html.matchAll(/<(\/?)([a-z][a-z0-9]*)([^>]*)>([^<]*)/g)) {
    if (closing) {
      open.pop();
    } else {
      const attributes = Object.fromEntries(
        [...rest.matchAll(/([a-z-]+)(?:="([^"]*)")?/g)].map(([, key, value]) => [key, value ?? '']));
      const made = new Element(name, attributes);
      open.at(-1).append(made);
      if (!VOID.includes(name)) open.push(made);
    }
    open.at(-1).append(text);
  }
  return root;
}

// The page after its models have come. `requests` are those under way: {path, body, answer(body, status)}.
export async function openPage(models) {
  const root = parse(HTML);
  const body = root.descendants.find((one) => one.name === 'body');
  const requests = [];
  globalThis.document = {
    body, baseURI: 'http://host:8080/', focused: body,
    // The focus is lost with the element that had it.
    get activeElement() {
      const {focused} = this;
      return focused.isUsable && focused.ancestors.includes(root) ? focused : body;
    },
    getElementById: (id) => root.descendants.find((one) => one.attributes.id === id) ?? null,
    createElement: (name) => new Element(name), createElementNS: (_, name) => new Element(name),
    createTextNode: (text) => text,
  };
  globalThis.FormData = class {
    constructor(form) { this.form = form; }
    *[Symbol.iterator]() {
      for (const one of this.form.descendants) {
        const {name, type} = one.attributes;
        if (name && !one.isOff && (type !== 'checkbox' || one.checked)) yield [name, one.value];
      }
    }
  };
  globalThis.setInterval = (...args) => timers.setInterval(...args).unref();  // a test that fails may leave a run
  globalThis.fetch = (path, {headers, body: sent, signal} = {}) => new Promise((resolve, reject) => {
    const request = {path, headers, body: sent && JSON.parse(sent)};
    const done = () => requests.splice(requests.indexOf(request), 1);
    request.answer = async (reply, status = 200) => {
      done();
      resolve({ok: status === 200, status, text: async () => JSON.stringify(reply)});
      await settle();
    };
    signal?.addEventListener('abort', () => {
      done();
      reject(signal.reason);
    });
    requests.push(request);
  });
  await import(`../../../server/page/main.mjs?${++opened}`);
  await requests[0].answer({models});
  return {requests, $: (id) => document.getElementById(id)};
}

// All that was promised has happened.
export const settle = () => new Promise((resolve) => setTimeout(resolve));
