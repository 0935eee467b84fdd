import { all, element } from './dom';

// Colours of comments, texts, words and numbers in samples, by one expression for each language.

const texts = '"(?:\\\\.|[^"\\\\])*"|\'(?:\\\\.|[^\'\\\\])*\'|`(?:\\\\.|[^`\\\\])*`';
const numbers = '\\b\\d[\\d._]*\\b';
const words: Record<string, string> = {
  sh: 'curl|export|for|in|do|done|while|if|then|fi|printf|echo|break',
  json: 'true|false|null',
  typescript: 'async|await|const|let|function|return|if|else|for|new|throw|try|catch|class|extends|import|from|instanceof|readonly|constructor|true|false|null|undefined',
  python: 'import|from|def|return|if|else|elif|for|in|while|class|try|except|raise|with|as|not|and|or|is|None|True|False',
  go: 'package|import|func|return|if|else|for|range|var|type|struct|defer|nil|true|false|go|map|any|error|string|int',
};
const comments: Record<string, string> = { sh: '(?<=^|\\s)#.*', python: '#.*', typescript: '//.*', go: '//.*' };

function expressionOf(language: string): RegExp | undefined {
  const keywords = words[language];
  if (keywords === undefined) return undefined;
  const comment = comments[language] ?? '(?!)';
  return new RegExp(`(?<comment>${comment})|(?<name>"[^"\\n]*"(?=: ))|(?<text>${texts})|(?<![.\\w])(?<word>${keywords})\\b|(?<number>${numbers})`, 'gm');
}

export function highlight(): void {
  for (const block of all('code[class^="language-"]')) {
    const name = block.className.slice('language-'.length);
    const expression = expressionOf(name === 'ts' ? 'typescript' : name);
    const text = block.textContent ?? '';
    if (!expression) continue;
    const parts: (Node | string)[] = [];
    let end = 0;
    for (const match of text.matchAll(expression)) {
      const kind = Object.entries(match.groups ?? {}).find(([, value]) => value !== undefined)?.[0] ?? '';
      parts.push(text.slice(end, match.index), element('span', { class: `t-${kind}` }, match[0]));
      end = match.index + match[0].length;
    }
    block.replaceChildren(...parts, text.slice(end));
  }
}
