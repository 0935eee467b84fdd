// Elements are made one by one, never from text: the pages forbid that (Trusted Types).

type Child = Node | string;

export function element<Name extends keyof HTMLElementTagNameMap>(
  name: Name, attributes: Record<string, string> = {}, ...children: Child[]): HTMLElementTagNameMap[Name] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
  made.append(...children);
  return made;
}

export function button(label: string, className: string, act: (event: MouseEvent) => void): HTMLButtonElement {
  const made = element('button', { type: 'button', class: className }, label);
  made.addEventListener('click', act);
  return made;
}

export function all<Type extends Element = HTMLElement>(selector: string, within: ParentNode = document): Type[] {
  return [...within.querySelectorAll<Type>(selector)];
}
