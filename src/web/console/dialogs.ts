// Dialogs, and secrets that are shown once.
import { Child, fill, h, icon, uniqueId } from './dom';
import { busy, button, callout, Kind, problemBox } from './ui';

export interface Dialog {
  element: HTMLDialogElement;
  close(): void;
  closed: Promise<void>;
}

export function openDialog(title: Child, content: Child[], { wide = false, modalOnly = false } = {}): Dialog {
  const label = uniqueId('dialog');
  const element: HTMLDialogElement = h(
    'dialog',
    { class: wide ? 'dialog large' : 'dialog', 'aria-labelledby': label },
    h(
      'div',
      { class: 'dialog-head' },
      h('h2', { id: label }, title),
      !modalOnly && button('', () => element.close(), { kind: 'quiet', shape: 'close', label: 'Close' }),
    ),
    h('div', { class: 'dialog-body' }, content),
  );
  // A dialog with something that is shown once is not closed by a slip of the hand.
  if (modalOnly) element.addEventListener('cancel', (event) => event.preventDefault());
  const closed = new Promise<void>((resolve) =>
    element.addEventListener('close', () => {
      element.remove();
      resolve();
    }),
  );
  document.body.append(element);
  element.showModal();
  // What is to be entered has the focus, not the button that closes.
  element.querySelector<HTMLElement>('.dialog-body :is(input, select, textarea, .secret-text, .button)')?.focus();
  addEventListener('hashchange', () => element.close(), { once: true });
  return { element, close: () => element.close(), closed };
}

// Asks before something is done that cannot be taken back. `work` runs in the dialog, which tells its failure.
export function confirm(
  title: Child,
  content: Child[],
  action: string,
  work: () => Promise<unknown>,
  kind: Kind = 'danger',
): Promise<boolean> {
  return new Promise((resolve) => {
    let done = false;
    const trouble = h('div', {});
    const yes: HTMLButtonElement = button(
      action,
      () =>
        void busy(yes, async () => {
          try {
            await work();
            done = true;
            dialog.close();
          } catch (error) {
            fill(trouble, problemBox(error));
          }
        }),
      { kind },
    );
    const dialog = openDialog(title, [
      content.map((each) => (typeof each === 'string' ? h('p', {}, each) : each)),
      trouble,
      h(
        'div',
        { class: 'actions end' },
        button('Cancel', () => dialog.close()),
        yes,
      ),
    ]);
    void dialog.closed.then(() => resolve(done));
  });
}

// ---- copying ----

export function copyButton(text: () => string, label = 'Copy'): HTMLButtonElement {
  const element: HTMLButtonElement = button(
    label,
    () =>
      void (async () => {
        const isCopied = await navigator.clipboard.writeText(text()).then(
          () => true,
          () => false,
        );
        fill(element, icon(isCopied ? 'check' : 'alert'), isCopied ? 'Copied' : 'Select it yourself');
        setTimeout(() => fill(element, icon('copy'), label), 2000);
      })(),
    { shape: 'copy', small: true },
  );
  return element;
}

export const sample = (text: string, label: string): HTMLElement =>
  h(
    'div',
    { class: 'sample' },
    h('pre', { tabindex: 0, role: 'group', 'aria-label': label }, h('code', {}, text)),
    copyButton(() => text),
  );

let secretStored = Promise.resolve();
// Resolves at once where no secret is shown. A session that ends waits for it: its end closes every dialog.
export const whenSecretStored = (): Promise<void> => secretStored;

// A secret that is shown once. It lives in the dialog alone and goes with it.
export function showSecret(title: string, secret: string, content: Child[]): Promise<void> {
  const dialog = openDialog(
    title,
    [
      callout(
        'warn',
        'Copy it now: it is shown once.',
        'The service keeps only what it needs to recognise it. Whoever loses it makes a new one.',
      ),
      h(
        'div',
        { class: 'secret' },
        h('code', { class: 'secret-text', tabindex: 0 }, secret),
        copyButton(() => secret),
      ),
      content,
      h(
        'div',
        { class: 'actions end' },
        button('I have stored it', () => dialog.close(), { kind: 'primary' }),
      ),
    ],
    { wide: true, modalOnly: true },
  );
  secretStored = dialog.closed;
  return dialog.closed;
}
