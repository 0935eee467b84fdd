"""Renders the guides, which are CommonMark, as HTML and writes them as one C++ source. Each begins with its title and a summary.
Beyond CommonMark: headings get ids; adjacent code blocks in different languages become alternatives of one sample;
`<!-- samples: FILE -->` stands for the code blocks of that file; other comments are for tests."""
import argparse
import html
import pathlib
import re
import subprocess

top = pathlib.Path(__file__).resolve().parents[2]
titles = {"sh": "curl", "typescript": "TypeScript", "ts": "TypeScript", "python": "Python", "go": "Go"}
block = re.compile(r'<pre><code class="language-(\w+)">(.*?)</code></pre>\n', re.S)


def rendered(text):
    return subprocess.run(["cmark"], input=text.encode(), check=True, stdout=subprocess.PIPE).stdout.decode()


def samples_of(file):
    return "".join(re.findall(r"^```\w+\n.*?^```\n\n?", (top / file).read_text(), re.M | re.S))


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def sample(match):
    """One block, or several in different languages, of which the first is shown."""
    blocks = block.findall(match[0])
    language, text = blocks[0]
    if len(blocks) == 1 or not all(each in titles for each, _ in blocks):
        return "".join(f'<pre tabindex="0"><code class="language-{each}">{text}</code></pre>\n' for each, text in blocks)
    parts = "".join(f'<details{" open" if index == 0 else ""}><summary>{titles[each]}</summary>\n'
                    f'<pre tabindex="0"><code class="language-{each}">{text}</code></pre>\n</details>\n'
                    for index, (each, text) in enumerate(blocks))
    return f'<div class="samples" data-title="{titles[language]}">\n{parts}</div>\n'


def guide(path):
    text = path.read_text()
    title = re.match(r"# (.+)\n\n", text)
    summary = re.match(r"((?:.+\n)+)\n", text[title.end():])
    text = re.sub(r"<!-- samples: (\S+) -->\n", lambda match: samples_of(match[1]), text[title.end():])
    text = re.sub(r"^<!-- .*? -->\n", "", text, flags=re.M)
    markup, headings = rendered(text), []

    def heading(match):
        plain = html.unescape(re.sub(r"<[^>]*>", "", match[2]))
        headings.append((slug(plain), plain))
        return f'<{match[1]} id="{slug(plain)}"><a href="#{slug(plain)}">{match[2]}</a></{match[1]}>'

    markup = re.sub(r"<(h[23])>(.*?)</\1>", heading, markup)
    markup = re.sub(rf"(?:{block.pattern})+", sample, markup, flags=re.S)
    markup = markup.replace("<p>", '<p class="lead">', 1)
    return path.stem, title[1], " ".join(summary[1].split()), markup, headings


def literal(text):
    escaped = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return f'"{escaped}"'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("inputs", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    lists, rows = [], []
    for name, title, summary, markup, headings in map(guide, options.inputs):
        array = f"headings_{len(rows)}"
        members = "".join(f"    {{{literal(anchor)}, {literal(text)}}},\n" for anchor, text in headings)
        lists.append(f"constexpr guide_heading {array}[] = {{\n{members}}};\n")
        rows.append(f"    {{{literal(name)}, {literal(title)}, {literal(summary)}, {literal(markup)}, {array}}},\n")
    options.output.write_text('#include "web/guides.hpp"\n\nnamespace latchkey::web {\nnamespace {\n\n' + "".join(lists)
                              + "constexpr guide all_guides[] = {\n" + "".join(rows) + "};\n\n}  // namespace\n\n"
                              + "std::span<guide const> guides() {\n    return all_guides;\n}\n\n}  // namespace latchkey::web\n")


main()
