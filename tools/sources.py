"""Reads the C++ of the tree as text: its files, includes, functions and variables. Used by tools/tidy and tools/graph;
it uses no compiler, so it takes seconds for the whole tree."""
import bisect
import pathlib
import re

top = pathlib.Path(__file__).resolve().parent.parent

# Prepositions, pronouns, adverbs and participles: no names of variables, which are nouns.
not_nouns = """at of in from to by on with into onto upon over under before after behind beside between within without than
through against toward since until during per via off up down about above below around
what which who whose whom how where when why that these those them him he nobody somebody whoever
made seen given found come gone came told taken kept known held sent got wanted asked written lent shown heard said chosen
opened begun ended spoilt bent borrowed looked meant stored then spoken moved lost dropped done changed used refused""".split()


def files(folder):
    return sorted((top / folder).rglob("*.[ch]pp"))


def without_comments(text):
    """Comments and what stands in quotes are blanked; every character keeps its place and line."""
    blank = lambda match: re.sub(r"[^\n]", " ", match[0])
    text = re.sub(r'R"(\w*)\((?:.|\n)*?\)\1"', blank, text)
    pattern = r"""//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'"""
    return re.sub(pattern, blank, text)


def includes(text):
    return re.findall(r'^#include ["<]([^">]+)[">]', text, re.M)


def functions(text):
    """(first line, number of lines) of every function body, found by its braces. `text` is without comments."""
    results, stack, chunk = [], [], 0
    code = re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", lambda match: re.sub(r"[^\n]", " ", match[0]), text, flags=re.M)
    line_ends = [match.start() for match in re.finditer("\n", code)]
    number = lambda place: bisect.bisect_left(line_ends, place) + 1
    for match in re.finditer(r"[{};]", code):
        place, sign = match.start(), match[0]
        if sign == ";":
            if not stack or stack[-1][0] in ("scope", "body"):
                chunk = place + 1
        elif sign == "{":
            kind = kind_of(code[chunk:place], stack[-1][0] if stack else "scope")
            stack.append((kind, chunk + len(code[chunk:place]) - len(code[chunk:place].lstrip())))
            if kind != "value":
                chunk = place + 1
        elif stack:
            kind, begin = stack.pop()
            if kind == "function":
                first = number(begin)
                results.append((first, number(place) - first + 1))
            if kind != "value":
                chunk = place + 1
    return results


def kind_of(header, outer):
    """The kind of a brace: a scope (namespace, type), a function, a value, or a body within a function."""
    if outer in ("function", "body"):
        return "body"
    if outer == "value":
        return "value"
    header = re.sub(r"\b(?:alignas|requires|__attribute__)\s*\([^()]*\)|\[\[[^\]]*\]\]", " ", header).strip()
    header = re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", header)
    if re.match(r"(?:inline\s+)?namespace\b|extern\b\s*$", header):
        return "scope"
    if re.match(r"(?:template\s*<.*>\s*)?(?:typedef\s+)?(?:class|struct|union|enum)\b[^()]*$", header, re.S):
        return "scope"
    initialisers = re.search(r"\)\s*(?:noexcept\s*)?:(?!:)", header)
    if "(" not in header or (re.search(r"(?<![=!<>+\-*/])=(?!=)", header.split("(")[0]) and "operator" not in header):
        return "value"
    if initialisers and re.search(r"[\w>]\s*$", header):
        return "value"  # a member that is initialised with braces
    return "function"


declaration = re.compile(r"(?:(?<=[\w>\]&*])\s+|(?<=[&*])|\[)\b(" + "|".join(not_nouns) + r")_?\b\s*(?=[,;=)\[\]{:](?!:))")
keyword = re.compile(r"\b(?:return|co_return|co_await|co_yield|throw|case|else|goto|not|and|or|delete|new|using|namespace)\s+$")
operator = re.compile(r"(?:&&|[=(,!+\-|]\s*[&*]|\breturn\s*[&*])$")
binding = re.compile(r"auto(?: const)?&{0,2} ?\[$")


def ill_named(text):
    """(line, name) of each variable, parameter and member whose name is one of `not_nouns`, as far as it can be told
    without a compiler. `text` is without comments."""
    hits = []
    for match in declaration.finditer(text):
        begin = match.start(1)
        context = text[max(0, begin - 60):begin]
        previous = context.rstrip()
        if keyword.search(context) or operator.search(previous) or previous.endswith(("(", ",")):
            continue  # an expression
        if previous.endswith("[") and not binding.search(previous):
            continue
        hits.append((text.count("\n", 0, begin) + 1, match[1]))
    return hits


def units(folder="src"):
    """A header and its source are one unit: {unit: units it includes}, by path without ending, below `folder`."""
    graph = {}
    for path in files(folder):
        unit = str(path.relative_to(top / folder).with_suffix(""))
        uses = graph.setdefault(unit, set())
        for name in includes(path.read_text()):
            other = re.sub(r"\.[ch]pp$", "", name)
            if other != unit and (top / folder / name).exists():
                uses.add(other)
    return graph


def modules(folder="src/web"):
    """{module: modules it imports} of the TypeScript, by path without ending, below `folder`."""
    graph = {}
    for path in sorted((top / folder).rglob("*.ts")):
        place = lambda file: str(file.resolve().relative_to(top / folder))
        names = re.findall(r"""(?:\bfrom|\bimport)\s*\(?\s*['"](\.{1,2}/[^'"]+)['"]""", path.read_text())
        graph[place(path.with_suffix(""))] = {place(path.parent / name) for name in names}
    return graph


def parts(units):
    """{layer: {folder within it: folders within it that it includes}}, for the layers that have such folders."""
    graphs = {}
    for unit, uses in units.items():
        layer, *folders = unit.split("/")[:-1]
        if not folders:
            continue
        part = graphs.setdefault(layer, {}).setdefault(f"{layer}/{folders[0]}", set())
        others = ("/".join(other.split("/")[:2]) for other in uses if other.startswith(layer + "/") and other.count("/") > 1)
        part.update(other for other in others if other != f"{layer}/{folders[0]}")
    return graphs


def circles(graph):
    """The strongly connected components of more than one node (Tarjan)."""
    index, low, stack, results = {}, {}, [], []

    def visit(node):
        index[node] = low[node] = len(index)
        stack.append(node)
        for other in graph.get(node, ()):
            if other not in index:
                visit(other)
                low[node] = min(low[node], low[other])
            elif other in stack:
                low[node] = min(low[node], index[other])
        if low[node] == index[node]:
            cut = stack.index(node)
            members, stack[cut:] = stack[cut:], []
            if len(members) > 1:
                results.append(sorted(members))

    for node in sorted(graph):
        if node not in index:
            visit(node)
    return results


def classes(text):
    """(name, functions, members) of each class or struct, by its declarations. `text` is without comments."""
    results = []
    for match in re.finditer(r"\b(?:class|struct)\s+(?:alignas\([^)]*\)\s*)?(\w+)(?:\s+final)?\s*(?::[^;{(]*)?\{", text):
        if not re.search(r"\benum\s*$", text[:match.start()]):
            results.append((match[1], *declarations(text, match.end())))
    return results


def declarations(text, begin):
    """(functions, members) that are declared within the braces of a class; `begin` is behind the first one."""
    functions = members = 0
    depth, chunk, head = 1, begin, ""
    for match in re.finditer(r"[{};]", text[begin:]):
        place, sign = begin + match.start(), match[0]
        if sign == "{":
            head = text[chunk:place] if depth == 1 else head
            depth += 1
        elif sign == "}":
            depth -= 1
            if depth == 0:
                break
            if depth == 1 and is_function(without_access(head)):
                functions, chunk = functions + 1, place + 1
            elif depth == 1 and re.match(r"(?:template\s*<.*>\s*)?(?:class|struct|union|enum)\b", without_access(head)):
                chunk = place + 1
        elif depth == 1:
            body, chunk = without_access(re.sub(r"\{[^{}]*\}", "{}", text[chunk:place])), place + 1
            if not body or re.match(r"(?:using|friend|static_assert|enum|static constexpr|(?:class|struct)\s+\w+$)\b", body):
                continue
            if is_function(body):
                functions += 1
            else:
                members += 1 + without_brackets(body).count(",")
    return functions, members


def without_access(text):
    return re.sub(r"^(?:(?:public|private|protected)\s*:\s*)+", "", " ".join(text.split()))


def without_brackets(text):
    while (shorter := re.sub(r"<[^<>]*>|\([^()]*\)|\{[^{}]*\}", "", text)) != text:
        text = shorter
    return text


def is_function(text):
    while (shorter := re.sub(r"<[^<>]*>|alignas\s*\([^()]*\)", "", text)) != text:
        text = shorter
    before = text.split("(")[0]
    return "(" in text and "{" not in before and ("=" not in before or "operator" in before)
