"""Renders the guides, which are CommonMark, as HTML and writes them as one C++ source. Each begins with its title and a summary.
Beyond CommonMark: tables; headings get ids, those of GitHub; adjacent code blocks in different languages become alternatives of
one sample; `<!-- samples: FILE -->` stands for the code blocks of that file; other comments are for tests. A link to the file of
a guide leads to its page. A link to another file of the tree, which the service does not show, is its text alone."""
import argparse
import html
import os.path
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
    return re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")


def plain_text(markup):
    return " ".join(html.unescape(re.sub(r"<[^>]*>", "", markup)).split())


def sample(match):
    """One block, or several in different languages, of which the first is shown."""
    blocks = block.findall(match[0])
    language, text = blocks[0]
    languages = {each for each, _ in blocks}
    if len(blocks) == 1 or len(languages) < len(blocks) or not languages <= titles.keys():
        return "".join(f'<pre tabindex="0"><code class="language-{each}">{text}</code></pre>\n' for each, text in blocks)
    parts = "".join(f'<details{" open" if index == 0 else ""}><summary>{titles[each]}</summary>\n'
                    f'<pre tabindex="0"><code class="language-{each}">{text}</code></pre>\n</details>\n'
                    for index, (each, text) in enumerate(blocks))
    return f'<div class="samples" data-title="{titles[language]}">\n{parts}</div>\n'


def table(match):
    """A paragraph whose lines begin with a bar: the head, what says how columns are aligned, and the rows."""
    head, _, *rows = [[cell.strip().replace("\\|", "|") for cell in re.split(r"(?<!\\)\|", line.strip("|"))] for line in match[1].split("\n")]
    names = "".join(f"<th>{cell}</th>" if cell else "<td></td>" for cell in head)
    body = "".join("<tr>" + "".join(f"<td>{cell}</td>" for cell in row) + "</tr>\n" for row in rows)
    return f'<div class="table" tabindex="0"><table>\n<thead><tr>{names}</tr></thead>\n<tbody>\n{body}</tbody>\n</table></div>\n'


def link(match, folder, guides):
    target, _, anchor = match[1].partition("#")
    file = pathlib.Path(os.path.normpath(folder / target))
    if ":" in target or target.startswith("/") or not target:
        return match[0]
    return f'<a href="/docs/{file.stem}{"#" if anchor else ""}{anchor}">{match[2]}</a>' if file in guides else match[2]


def guide(path, guides):
    path = path.resolve()
    text = path.read_text()
    title = re.match(r"# (.+)\n\n", text)
    summary = re.match(r"((?:.+\n)+)\n", text[title.end():])
    text = re.sub(r"<!-- samples: (\S+) -->\n", lambda match: samples_of(match[1]), text[title.end():])
    text = re.sub(r"^<!-- .*? -->\n", "", text, flags=re.M)
    markup, headings = rendered(text), []

    def heading(match):
        plain = plain_text(match[2])
        headings.append((slug(plain), plain))
        return f'<{match[1]} id="{slug(plain)}"><a href="#{slug(plain)}">{match[2]}</a></{match[1]}>'

    markup = re.sub(r"<(h[23])>(.*?)</\1>", heading, markup)
    texts = [plain_text(part) for part in re.split(r"<h[23] id=.*?</h[23]>", markup)]  # before the first heading, and below each
    markup = re.sub(rf"(?:{block.pattern})+", sample, markup, flags=re.S)
    markup = markup.replace("<pre><code>", '<pre tabindex="0"><code>')  # a block without a language
    markup = re.sub(r"<p>(\|.*\n\|-.*(?:\n\|.*)*)</p>\n", table, markup)
    markup = re.sub(r'<a href="([^"]*)">(.*?)</a>', lambda match: link(match, path.parent, guides), markup, flags=re.S)
    markup = markup.replace("<p>", '<p class="lead">', 1)
    markup = re.sub(r'(<p class="lead">.*?</p>\n<ul)(>\n<li><a href="#)', r'\1 class="parts"\2', markup, count=1, flags=re.S)
    group = "Guides" if path.parent.name == "guides" else "Operations"
    return path.stem, group, title[1], " ".join(summary[1].split()), markup, texts[0], [(*each, text) for each, text in zip(headings, texts[1:])]


def literal(text):
    escaped = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in text.encode())
    return f'"{escaped}"'


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("inputs", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    lists, rows = [], []
    guides = {path.resolve() for path in options.inputs}
    for name, group, title, summary, markup, plain, headings in (guide(path, guides) for path in options.inputs):
        array = f"headings_{len(rows)}"
        members = "".join(f"    {{{', '.join(map(literal, heading))}}},\n" for heading in headings)
        lists.append(f"constexpr guide_heading {array}[] = {{\n{members}}};\n")
        rows.append(f"    {{{', '.join(map(literal, (name, group, title, summary, markup, plain)))}, {array}}},\n")
    options.output.write_text('#include "web/guides.hpp"\n\nnamespace latchkey::web {\nnamespace {\n\n' + "".join(lists)
                              + "constexpr guide all_guides[] = {\n" + "".join(rows) + "};\n\n}  // namespace\n\n"
                              + "std::span<guide const> guides() {\n    return all_guides;\n}\n\n}  // namespace latchkey::web\n")


main()
