import { all, button, element } from './dom';

// Samples in several languages, one below the other, become tabs. The language that was chosen last is shown on all pages.

const memory = 'latchkey-language';
const choosers: ((language: string) => void)[] = [];

function chosenLanguage(): string {
  try {
    return localStorage.getItem(memory) ?? 'curl';
  } catch {
    return 'curl'; // the browser keeps nothing
  }
}

function choose(language: string): void {
  try {
    localStorage.setItem(memory, language);
  } catch { /* then it holds for this page */ }
  for (const each of choosers) each(language);
}

function makeTabs(group: HTMLElement, index: number): void {
  const bar = element('div', { role: 'tablist', 'aria-label': 'Language' });
  const languages: string[] = [];
  const tabs: HTMLButtonElement[] = [];
  const panels = all('details', group).map((details, place) => {
    const language = details.querySelector('summary')?.textContent ?? '';
    const name = `sample-${index}-${place}`;
    const tab = button(language, 'tab', () => choose(language));
    for (const [key, value] of Object.entries({ role: 'tab', id: `${name}-tab`, 'aria-controls': name })) tab.setAttribute(key, value);
    tab.addEventListener('keydown', (event) => {
      const step = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
      if (step === undefined) return;
      event.preventDefault();
      const next = (place + step + tabs.length) % tabs.length;
      choose(languages[next]!);
      tabs[next]!.focus();
    });
    bar.append(tab);
    languages.push(language);
    tabs.push(tab);
    const panel = element('div', { role: 'tabpanel', id: name, 'aria-labelledby': `${name}-tab` });
    panel.append(...[...details.childNodes].filter((node) => (node as Element).tagName !== 'SUMMARY'));
    return panel;
  });
  choosers.push((language) => {
    const shown = Math.max(0, languages.indexOf(language));
    tabs.forEach((tab, place) => {
      tab.setAttribute('aria-selected', String(place === shown));
      tab.tabIndex = place === shown ? 0 : -1;
      panels[place]!.hidden = place !== shown;
    });
  });
  group.classList.add('tabbed');
  group.replaceChildren(bar, ...panels);
}

export function makeAllTabs(): void {
  all('.samples').forEach(makeTabs);
  for (const each of choosers) each(chosenLanguage());
}
