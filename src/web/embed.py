"""Bundles the pages' TypeScript and CSS with esbuild and writes all files that browsers load as one C++ source: plain, gzip
and brotli, each under a path with the hash of its content. `{{NAME}}` in an HTML file becomes the path of the file NAME."""
import argparse
import gzip
import hashlib
import os
import pathlib
import re
import subprocess

kinds = {".css": "style_sheet", ".svg": "svg", ".js": "javascript", ".html": "html"}
modules = "/usr/share/nodejs"  # of Debian's packages: chart.js


def bundle(esbuild, path):
    command = [esbuild, str(path), "--bundle", "--minify", "--charset=utf8", "--legal-comments=none", "--log-level=warning"]
    if path.suffix == ".ts":
        command += ["--format=esm", "--target=es2022"]
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, env=dict(os.environ, NODE_PATH=modules)).stdout


def literal(content):
    """A C++ string literal, which compiles faster than a list of numbers."""
    escaped = "".join(chr(byte) if 32 <= byte < 127 and byte not in b'"\\?' else f"\\{byte:03o}" for byte in content)
    return f'{{"{escaped}", {len(content)}}}'


def brotli(content):
    return subprocess.run(["brotli", "--best", "--stdout", "-"], input=content, check=True, stdout=subprocess.PIPE).stdout


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--esbuild", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("inputs", type=pathlib.Path, nargs="+")
    options = parser.parse_args()
    paths, rows = {}, []
    for path in options.inputs:
        name = path.with_suffix(".js").name if path.suffix == ".ts" else path.name
        content = bundle(options.esbuild, path) if path.suffix in (".ts", ".css") else path.read_bytes()
        if path.suffix == ".html":
            content = re.sub(rb"\{\{([^}]*)\}\}", lambda match: paths[match[1].decode()].encode(), content)
        tag = hashlib.sha256(content).hexdigest()[:16]
        stem, suffix = name.rsplit(".", 1)
        paths[name] = f"/assets/{stem}-{tag}.{suffix}"
        forms = ", ".join(map(literal, (content, gzip.compress(content, 9, mtime=0), brotli(content))))
        rows.append(f'    {{"{name}", "{paths[name]}", "{tag}", media::{kinds["." + suffix]}, {forms}}},\n')
    options.output.write_text('#include "web/files.hpp"\n\nnamespace latchkey::web {\n\nextern file const embedded_files[] = {\n'
                              + "".join(rows) + "};\nextern std::size_t const embedded_file_count = " + str(len(rows))
                              + ";\n\n}  // namespace latchkey::web\n")


main()
