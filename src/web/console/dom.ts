// Elements without a framework. Text becomes text nodes, never markup: the page's policy (trusted types 'none') forbids all else.

export type Child = Node | string | number | null | undefined | false | Child[];

type Listener = (event: Event) => void;
export type Attributes = { [name: string]: string | number | boolean | null | undefined | Listener };

// Properties that the attribute of the same name does not change once a user has changed them.
const properties = new Set(['value', 'checked', 'selected', 'open', 'indeterminate']);

export function set(element: Element, attributes: Attributes): void {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === undefined) continue;
    if (typeof value === 'function') element.addEventListener(name.slice(2), value);
    else if (properties.has(name)) Reflect.set(element, name, value ?? '');
    else if (value === null || value === false) element.removeAttribute(name);
    else element.setAttribute(name, value === true ? '' : String(value));
  }
}

export function append(parent: Element, children: Child[]): void {
  for (const child of children) {
    if (Array.isArray(child)) append(parent, child);
    else if (child !== null && child !== undefined && child !== false)
      parent.append(typeof child === 'number' ? String(child) : child);
  }
}

// h('a', { class: 'name', href: '#/keys', onclick: () => … }, 'Keys')
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  append(element, children); // before the attributes: the value of a select needs its options
  set(element, attributes);
  return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  set(element, attributes);
  append(element, children);
  return element;
}

export function fill(element: Element, ...children: Child[]): void {
  element.replaceChildren();
  append(element, children);
}

let last = 0;
export const uniqueId = (stem: string): string => `${stem}-${(last += 1)}`;

// Controls of the direction of text, and the invisible characters beside them, would let a name look like another one.
const controls = /([\u0000-\u001f\u007f-\u009f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2064\u2066-\u206f\ufeff])/u;

// What users, keys and events are called: isolated from the text around it, controls made visible.
export function named(text: string, attributes: Attributes = {}): HTMLElement {
  const element = h('bdi', attributes);
  if (!controls.test(text)) {
    element.textContent = text;
    return element;
  }
  for (const part of text.split(controls)) {
    if (!controls.test(part)) element.append(part);
    else
      element.append(
        h(
          'span',
          { class: 'control', title: 'an invisible character' },
          `U+${(part.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`,
        ),
      );
  }
  return element;
}

// Lucide-like outlines, 24 × 24.
const shapes: Record<string, string> = {
  overview: 'M4 13h6V4H4zM14 20h6v-9h-6zM4 20h6v-3H4zM14 7h6V4h-6z',
  key: 'M8 19a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM11 12l9-9M16 7l3 3M14 9l2 2',
  shield: 'M12 3l8 3v6c0 5-3.5 8-8 9-4.5-1-8-4-8-9V6zM9 12l2 2 4-4',
  pulse: 'M3 12h4l3-8 4 16 3-8h4',
  inbox: 'M4 13l3-8h10l3 8v6H4zM4 13h5l1 3h4l1-3h5',
  send: 'M21 3L3 10l7 3 3 8zM10 13l5-5',
  list: 'M8 6h12M8 12h12M8 18h12M4 6h.01M4 12h.01M4 18h.01',
  users: 'M9 11a4 4 0 1 0 0-8 4 4 0 0 0 0 8zM2 21c0-4 3-6 7-6s7 2 7 6M16 3.5a4 4 0 0 1 0 7M18 15.500c2.500.700 4 2.500 4 5.500',
  posts: 'M6 3h9l4 4v14H6zM14 3v5h5M9 13h7M9 17h5',
  menu: 'M4 6h16M4 12h16M4 18h16',
  close: 'M6 6l12 12M18 6L6 18',
  plus: 'M12 5v14M5 12h14',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  check: 'M5 12l5 5L20 7',
  alert: 'M12 4l9 16H3zM12 10v4M12 17h.01',
  clock: 'M12 21a9 9 0 1 0 0-18 9 9 0 0 0 0 18zM12 7v5l3 2',
  refresh: 'M20 11a8 8 0 1 0-2 6M20 5v6h-6',
  arrow: 'M5 12h14M13 6l6 6-6 6',
  back: 'M19 12H5M11 6l-6 6 6 6',
  trash: 'M4 7h16M9 7V4h6v3M6 7l1 13h10l1-13M10 11v5M14 11v5',
  door: 'M14 4H5v16h9M10 12h11M17 8l4 4-4 4',
  play: 'M7 4l12 8-12 8z',
  pause: 'M8 5v14M16 5v14',
  book: 'M5 4h6a2 2 0 0 1 2 2v14a2 2 0 0 0-2-2H5zM21 4h-6a2 2 0 0 0-2 2v14a2 2 0 0 1 2-2h6z',
  minus: 'M6 12h12',
  dot: 'M12 13a1 1 0 1 0 0-2 1 1 0 0 0 0 2z',
};

export function icon(name: string, attributes: Attributes = {}): SVGElement {
  return svg(
    'svg',
    { class: 'icon', viewBox: '0 0 24 24', 'aria-hidden': 'true', ...attributes },
    svg('path', { d: shapes[name] ?? '' }),
  );
}
