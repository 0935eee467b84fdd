// Completion in bash, zsh and fish, and manual pages: both are made from the table of commands.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import path from 'node:path';
import { describe, test } from 'node:test';
import { binary, command, commandOf, temporaryFolder } from '../helpers/harness.mjs';

const folder = temporaryFolder();
const bin = path.join(folder, 'bin');
fs.mkdirSync(bin);
fs.symlinkSync(binary, path.join(bin, 'latchkey'));
fs.writeFileSync(path.join(folder, 'a file.json'), '');
const data = path.join(folder, 'data');
for (const name of ['first', 'old: "laptop"'])
  assert.equal((await command('keys', 'create', '--name', name, '--data', data)).code, 0);
assert.equal((await command('keys', 'deactivate', '2', '--yes', '--data', data)).code, 0);
const patient = 'timeout() { shift; "$@"; }'; // a build with sanitizers is slow to start

// Runs a script with latchkey in its path.
async function script(program, args, text) {
  const file = path.join(folder, `script.${path.basename(program)}`);
  fs.writeFileSync(file, text);
  const ended = await commandOf('env', '-C', folder, `PATH=${bin}:${process.env.PATH}`, `HOME=${folder}`, program, ...args, file);
  assert.equal(ended.code, 0, ended.stderr);
  return ended.stdout;
}

// What each shell must offer at the end of these words.
const offers = [
  [['ke'], ['keys']],
  [['keys', 'crea'], ['create']],
  [['keys', 'create', '--exp'], ['--expires-in', '--expires-at']],
  [['webhooks', 'rot'], ['rotate-secret']],
  [['keys', 'list', '--state', 'de'], ['deactivated']],
  [['events', 'secret', 's'], ['set', 'show']],
  [['usage', '--granularity', ''], ['minute', 'hour', 'day']],
  [['completion', ''], ['bash', 'zsh', 'fish']],
  [['import', '--from', 'k'], ['kong']],
];

describe('completion', () => {
  test('in bash', async () => {
    const text = offers.map(([words]) => `COMP_WORDS=(latchkey ${words.map((w) => `'${w}'`).join(' ')}); COMP_CWORD=${words.length}; _latchkey; echo "\${COMPREPLY[*]}"`);
    const output = await script('bash', ['--norc'], `source <(latchkey completion bash)\ncomplete -p latchkey\n${text.join('\n')}
COMP_WORDS=(latchkey import 'a f'); COMP_CWORD=2; _latchkey; echo "\${COMPREPLY[*]}"
COMP_WORDS=(latchkey keys list --key-file ''); COMP_CWORD=4; _latchkey; printf '%s|' "\${COMPREPLY[@]}"; echo
COMP_WORDS=(latchkey keys create --name ''); COMP_CWORD=4; _latchkey; echo "<\${COMPREPLY[*]}>"
${patient}
COMP_WORDS=(latchkey keys rotate --data ${data} ''); COMP_CWORD=5; _latchkey; echo "\${COMPREPLY[*]}"
COMP_WORDS=(latchkey keys show --data=${folder}/none ''); COMP_CWORD=4; _latchkey; echo "\${COMPREPLY[*]}"\n`);
    const [registered, ...lines] = output.trimEnd().split('\n');
    assert.match(registered, /^complete .*-F _latchkey latchkey$/);
    for (const [index, [words, wanted]] of offers.entries()) {
      const offered = lines[index].split(' ').filter((word) => !words.at(-1).startsWith('-') ? !word.startsWith('-') : true);
      assert.deepEqual(offered.sort(), [...wanted].sort(), words.join(' '));
    }
    const [files, keyFiles, name, ids, noIds] = lines.slice(offers.length);
    assert.match(files, /a file\.json/);
    assert.match(keyFiles, /a file\.json\|/);
    assert.equal(name, '<>', 'a value of any text is left to the user');
    assert.match(ids, / 1 2$/);
    assert.match(noIds, /--json/);
    assert.doesNotMatch(noIds, /[0-9]/);
  });

  const present = async (shell) => (await commandOf('sh', '-c', `command -v ${shell}`)).code === 0;

  test('in fish', async (t) => {
    if (!await present('fish')) return t.skip('there is no fish');
    const output = await script('fish', ['--no-config'], `latchkey completion fish | source\n${
      offers.map(([words]) => `complete -C "latchkey ${words.join(' ')}" | string replace -r '\\t.*' '' | string join ' '`).join('\n')}
function timeout; set -e argv[1]; $argv; end
complete -C "latchkey keys deactivate --data ${data} "
complete -C "latchkey keys cr"
exit 0\n`);
    assert.match(output, /^1\tfirst\n2\told: "laptop", deactivated$/m);
    assert.match(output, /^create\tCreate a key and show it once$/m);
    for (const [index, [words, wanted]] of offers.entries()) {
      const offered = output.split('\n')[index].split(' ').filter((word) => word !== '' && (words.at(-1).startsWith('-') || !word.startsWith('-')));
      for (const word of wanted) assert.ok(offered.includes(word), `${words.join(' ')}: ${offered.join(' ')}`);
    }
  });

  test('in zsh', async (t) => {
    if (!await present('zsh')) return t.skip('there is no zsh');
    // In a terminal of its own: what is typed, then Tab, then a key that writes the line into a file.
    const lines = offers.filter(([, wanted]) => wanted.length === 1);
    const [ready, out] = [path.join(folder, 'ready'), path.join(folder, 'lines')];
    fs.writeFileSync(out, '');
    await script('zsh', ['-f'], `zmodload zsh/zpty
zpty z zsh -f -i
zpty -w z 'autoload -Uz compinit; compinit -u -D; source <(latchkey completion zsh); dump() { print -r -- "$BUFFER" >> ${out}; zle kill-whole-line }; zle -N dump; bindkey "^T" dump; : > ${ready}'
drain() { local part; while zpty -r -t z part; do :; done; sleep 0.1 }
repeat 150; do [[ -e ${ready} ]] && break; drain; done
${lines.map(([words], index) => `zpty -n -w z 'latchkey ${words.join(' ')}'$'\\t\\x14'
repeat 80; do [[ $(wc -l < ${out}) -gt ${index} ]] && break; drain; done`).join('\n')}
zpty -d z\n`);
    const output = fs.readFileSync(out, 'utf8');
    assert.deepEqual(output.trimEnd().split('\n').map((line) => line.trim()),
      lines.map(([words, [wanted]]) => ['latchkey', ...words.slice(0, -1), wanted].join(' ')));
  });

  test('in zsh, of the ids of keys with their names', async (t) => {
    if (!await present('zsh')) return t.skip('there is no zsh');
    const output = await script('zsh', ['-f'], `${patient}
compdef() {}
_describe() { [[ $2 != keys ]] || print -rl -- $keys }
source <(latchkey completion zsh)
words=(latchkey keys show --data ${data} ''); CURRENT=6; _latchkey\n`);
    assert.equal(output, '1:first\n2:old: "laptop", deactivated\n');
  });

  test('of another shell is refused', async () => {
    assert.equal((await command('completion', 'tcsh')).code, 2);
  });
});

describe('manual pages', () => {
  test('there is one for each command, which man can format', async () => {
    const commands = (await command('man', '--list')).stdout.trimEnd().split('\n');
    for (const each of ['serve', 'keys', 'keys create', 'events secret set', 'usage', 'completion']) assert.ok(commands.includes(each), each);
    assert.ok(!commands.includes('man'), 'what is hidden has no page');
    const formatter = (await commandOf('sh', '-c', 'command -v groff')).code === 0;
    for (const each of commands) {
      const page = await command('man', ...each.split(' '));
      assert.equal(page.code, 0, page.stderr);
      assert.match(page.stdout, /^\.TH LATCHKEY/);
      assert.match(page.stdout, /^\.SH EXIT STATUS$/m);
      const file = path.join(folder, 'page.1');
      fs.writeFileSync(file, page.stdout);
      if (!formatter) continue;
      const formatted = await commandOf('groff', '-man', '-Tutf8', '-ww', '-z', file);
      assert.deepEqual([formatted.code, formatted.stderr], [0, ''], each);
    }
    const page = (await command('man', 'keys', 'create')).stdout;
    assert.match(page, /^\.B \\-\\-expires\\-in /m);
    assert.match(page, /^\.SH EXAMPLE\n\.nf\nlatchkey keys create/m);
    assert.match(page, /LATCHKEY_URL/);
    assert.match(page, /^\.SH ENVIRONMENT\n\.TP\n\.B LATCHKEY_CONFIG\n.*\n\.TP\n\.BI LATCHKEY_ SETTING\n.*LATCHKEY_STORE_MAP_MIB=1024 is store\.map_mib/m);
    assert.match(page, /4 a key would be refused/);
    assert.doesNotMatch((await command('man', 'completion')).stdout, /LATCHKEY_/, 'it takes no settings');
    assert.equal((await command('man', 'nothing')).code, 2);
  });
});
