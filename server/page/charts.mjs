// Small charts as SVG elements.

const SVG = 'http://www.w3.org/2000/svg';

function element(name, attributes, text) {
  const made = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// The colour of an exit: the deeper, the darker.
export function exitColour(exit, layers) {
  return `hsl(212 65% ${94 - 34 * (exit / layers)}%)`;
}

// A bar beside a number in a table, of a share of its width.
export function cellBar(share) {
  const [bar, part] = [document.createElement('span'), document.createElement('i')];
  bar.className = 'bar';
  part.style.width = `${Math.round(100 * Math.min(1, share))}%`;
  bar.append(part);
  return bar;
}

// A round number at or above a value, as the end of an axis.
export function axisEnd(value) {
  if (!(value > 0)) return 1;
  const power = 10 ** Math.floor(Math.log10(value));
  return power * [1, 1.5, 2, 3, 4, 5, 6, 8, 10].find((step) => step * power >= value * 0.9999);
}

// Points {x, y, name}. x begins at 0; y has one more at both ends.
export function scatter(points, xName, yName) {
  const [width, height, left, bottom] = [420, 260, 48, 36];
  const xEnd = axisEnd(Math.max(...points.map((point) => point.x)));
  const ys = points.map((point) => point.y);
  const [yStart, yEnd] = [Math.floor(Math.min(...ys) - 0.5), Math.ceil(Math.max(...ys) + 0.5)];
  const x = (value) => left + (width - left - 70) * (value / xEnd);
  const y = (value) => height - bottom - (height - bottom - 16) * ((value - yStart) / (yEnd - yStart));
  const chart = element('svg', {width, height, role: 'img', 'aria-label': `${yName} against ${xName}`});
  chart.append(element('path', {class: 'axis', fill: 'none',
                                d: `M${left} 16V${height - bottom}H${width - 70}`}));
  for (const share of [0, 0.5, 1]) {
    const [atX, atY] = [share * xEnd, yStart + share * (yEnd - yStart)];
    chart.append(element('text', {x: x(atX), y: height - bottom + 16, 'text-anchor': 'middle'},
                         Number(atX.toPrecision(3))));
    chart.append(element('text', {x: left - 6, y: y(atY) + 4, 'text-anchor': 'end'}, Number(atY.toPrecision(3))));
  }
  chart.append(element('text', {x: width - 70, y: height - 4, 'text-anchor': 'end'}, xName));
  chart.append(element('text', {x: left + 6, y: 22}, yName));
  for (const point of points) {
    const mark = element('circle', {class: 'mark', cx: x(point.x), cy: y(point.y), r: 4});
    const numbers = `${Number(point.x.toPrecision(3))}, ${Number(point.y.toPrecision(4))}`;
    mark.append(element('title', {}, `${point.name}: ${numbers}`));
    chart.append(mark, element('text', {class: 'name', x: x(point.x) + 7, y: y(point.y) + 4}, point.name));
  }
  return chart;
}

// How many tokens left after each layer.
export function exitBars(counts) {
  const [width, row] = [420, 20];
  const all = counts.reduce((sum, count) => sum + count, 0);
  const chart = element('svg', {width, height: row * counts.length + 4, role: 'img', 'aria-label': 'tokens by exit'});
  counts.forEach((count, i) => {
    const share = all > 0 ? count / all : 0;
    chart.append(element('text', {x: 0, y: row * i + 15}, `layer ${i + 1}`),
                 element('rect', {x: 56, y: row * i + 4, height: row - 5, width: Math.max(1, 250 * share),
                                  fill: exitColour(i + 1, counts.length), stroke: '#9aa7b8'}),
                 element('text', {x: 64 + 250 * share, y: row * i + 15}, `${count} (${Math.round(100 * share)} %)`));
  });
  return chart;
}
