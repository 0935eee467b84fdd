import { addCopyButtons } from './copy';
import { all, button, element } from './dom';
import { type Answer, hasConsole, send } from './session';

// "Try it": a form for each operation that sends the request to this service, with the login of the console.

interface Parameter { name: string; place: 'path' | 'query' | 'header'; field: HTMLInputElement }

function indented(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

// What the page says about the parameters of an operation.
function parametersOf(section: HTMLElement, prefix: string): Parameter[] {
  return all('.parameters > div, .fields > a', section).map((entry, index) => {
    const name = entry.querySelector('code')?.textContent ?? '';
    const note = entry.querySelector('.note')?.textContent ?? '';
    const place = note.includes('path') ? 'path' : note.includes('query') ? 'query' : 'header';
    const field = element('input', { id: `${prefix}-${index}`, autocomplete: 'off', spellcheck: 'false' });
    if (place === 'path') field.required = true;
    return { name, place, field };
  });
}

function targetOf(pattern: string, parameters: Parameter[]): string {
  const query = new URLSearchParams();
  let path = pattern;
  for (const { name, place, field } of parameters) {
    if (place === 'path') path = path.replace(`{${name}}`, encodeURIComponent(field.value));
    else if (place === 'query' && field.value !== '') query.append(name, field.value);
  }
  return query.size > 0 ? `${path}?${query}` : path;
}

function loginNotice(section: HTMLElement): HTMLElement {
  const here = `${location.pathname}#${section.querySelector('h2')?.id ?? ''}`;
  return element('p', { class: 'warning' }, 'Log in to the console first: ',
    element('a', { href: `/console#/?next=${encodeURIComponent(here)}` }, 'open the console'), '. Its login is used here.');
}

function shownAnswer(answer: Answer, section: HTMLElement): HTMLElement {
  const fields = answer.fields.map(([name, value]) => `${name}: ${value}\n`).join('');
  const result = element('div', { class: 'answer' },
    element('p', { class: 'caption' }, 'Answer ', element('strong', {}, `${answer.status} ${answer.statusText}`.trim()), ` in ${answer.milliseconds} ms`));
  if (answer.status === 401) result.append(loginNotice(section));
  result.append(element('details', {}, element('summary', {}, 'Header fields'), element('pre', { tabindex: '0' }, fields)));
  if (answer.body !== '') result.append(element('pre', { tabindex: '0' }, `${indented(answer.body)}\n`));
  addCopyButtons(result);
  return result;
}

function makeForm(section: HTMLElement, number: number): HTMLFormElement {
  const { method = 'GET', path = '' } = section.dataset;
  const parameters = parametersOf(section, `trial-${number}`);
  const example = section.querySelector<HTMLTemplateElement>('template.body')?.content.textContent ?? '';
  const form = element('form', { class: 'trial', 'aria-label': 'Try it' });
  const more = element('details', {}, element('summary', {}, 'Header fields')); // seldom needed
  for (const { name, place, field } of parameters) {
    const owner = place === 'header' ? more : form;
    owner.append(element('label', { for: field.id }, name, element('span', { class: 'note' }, ` ${place}`)), field);
  }
  const body = example === '' ? undefined : element('textarea', { id: `trial-${number}-body`, rows: String(example.split('\n').length + 1), spellcheck: 'false' }, example);
  if (body) form.append(element('label', { for: body.id }, 'body', element('span', { class: 'note' }, ' JSON')), body);
  const submit = element('button', { type: 'submit', class: 'primary' }, `Send ${method}`);
  const output = element('div', { role: 'status' });
  if (more.children.length > 1) form.append(more);
  form.append(element('p', { class: 'soft' }, 'The request is sent to this service and carried out.'), submit, output);
  form.addEventListener('submit', async (event) => {
    event.preventDefault();
    submit.disabled = true;
    try {
      const fields = Object.fromEntries(parameters.filter(({ place, field }) => place === 'header' && field.value !== '').map(({ name, field }) => [name, field.value]));
      const text = body && body.value.trim() !== '' ? body.value : undefined;
      output.replaceChildren(shownAnswer(await send(method, targetOf(path, parameters), text, fields), section));
    } catch (error) {
      output.replaceChildren(element('p', { class: 'warning' }, `The service could not be reached: ${error instanceof Error ? error.message : error}`));
    } finally {
      submit.disabled = false;
    }
  });
  return form;
}

export function addTrials(): void {
  if (!hasConsole()) return;
  all('section.operation').forEach((section, number) => {
    const place = section.querySelector('.examples');
    if (!place) return;
    let form: HTMLFormElement | undefined;
    const opener = button('Try it', 'try', () => {
      if (form) {
        form.hidden = !form.hidden;
      } else {
        form = makeForm(section, number);
        opener.after(form);
        form.querySelector<HTMLElement>('input, textarea, button')?.focus();
      }
      opener.setAttribute('aria-expanded', String(!form.hidden));
    });
    opener.setAttribute('aria-expanded', 'false');
    place.prepend(opener);
  });
}
