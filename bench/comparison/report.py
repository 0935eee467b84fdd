"""The table for people and the chart for the README."""
import statistics

bars = ["limit", "latchkey", "haproxy", "nginx", "Go net/http", "h2o (a file only)"]


def median(values):
    return statistics.median(values) if values else float("nan")


def spread(values):
    """Half of the distance between the extremes, as a share of the median."""
    return (max(values) - min(values)) / 2 / median(values) if len(values) > 1 and median(values) else 0


def table(work, seen):
    """Lines of a Markdown table: one row for each run of the work that was measured."""
    lines = [f"### {work.title}", "",
             "| | req/s | ± | CPU µs/req | ± | p50 µs | p99 µs | p99.9 µs | CPU against the first |",
             "|---|---:|---:|---:|---:|---:|---:|---:|---:|"]
    shown = [run.label for run in work.runs if seen[run.label]]
    first = median(seen[shown[0]]["cpu_us"])
    for label in shown:
        of = seen[label]
        ratio = f"{median(of['cpu_us']) / first:.2f}" if first else "–"  # commits without a server have none
        lines.append(f"| {label} | {median(of['per_second']):,.0f} | {spread(of['per_second']):.0%} "
                     f"| {median(of['cpu_us']):.2f} | {spread(of['cpu_us']):.0%} | {median(of['p50']):,.0f} "
                     f"| {median(of['p99']):,.0f} | {median(of['p999']):,.0f} | {ratio} |")
    left_out = [f"- {run.label}: **not measured**, this build does not speak HTTP/2"
                for run in work.runs if not seen[run.label]]
    return lines + [""] + left_out + verdicts(work, seen) + [""]


def promise(text, value, unit, bound, most):
    """The line of a figure that has a bound of its own."""
    holds = value <= bound if most else value >= bound
    places = 0 if abs(bound) >= 1000 else 2
    return (f"- {text}: **{value:,.{places}f}{unit}** ({'≤' if most else '≥'} {bound:,g}: {'holds' if holds else 'MISSED'})")


def ratios_of_rounds(target, seen):
    """figure(of) / the best figure(against), round by round; none if one of them was not measured."""
    best = min if target.most else max
    return [own / best(others) for own, *others in zip(*(seen[name].get(target.figure, []) for name in [target.of, *target.against]))]


def verdicts(work, seen):
    """A ratio is one of medians. Beside it stands the median of the ratios of the single rounds: what is measured within
    some seconds of each other sees the machine at one speed, which moves by a third from one minute to the next."""
    lines = []
    for each in work.targets:
        if not all(seen[name] for name in (each.of, *each.against)):
            lines.append(f"- {each.text}: **not measured** ({'≤' if each.most else '≥'} {each.bound:g})")
            continue
        best = min if each.most else max
        ratio = median(seen[each.of][each.figure]) / best(median(seen[name][each.figure]) for name in each.against)
        by_round = median(ratios_of_rounds(each, seen))
        holds = ratio <= each.bound if each.most else ratio >= each.bound
        aims = ratio <= each.aim if each.most else ratio >= each.aim
        sign = "≤" if each.most else "≥"
        lines.append(f"- {each.text}: **{ratio:.2f}** ({sign} {each.bound:g}: {'holds' if holds else 'MISSED'}; "
                     f"round by round {by_round:.2f}; aim {each.aim:g}{', reached' if aims else ''})")
    return lines


charted = {"get": "GET a user with a key, requests per second on one core",
           "h2": "The same over HTTP/2 and TLS 1.3, 16 connections of 32 streams"}


def chart(works, caption):
    """An SVG bar chart of requests per second in those of the works that are `charted`, each to its own scale; readable on
    light and dark pages."""
    row, left, width, y = 30, 150, 720, 18
    lines = []
    for work, title in charted.items():
        if work not in works:
            continue
        seen = works[work]
        values = {name: median(seen[name]["per_second"]) for name in bars if name in seen}
        lines.append(f'<text x="0" y="{y}" font-weight="600">{title}</text>')
        y += 14
        for name, value in values.items():
            length = (width - left - 150) * value / max(values.values())
            kind = "own" if name == "latchkey" else "bar"
            lines.append(f'<text x="{left - 10}" y="{y + 16}" text-anchor="end">{name}</text>'
                         f'<rect class="{kind}" x="{left}" y="{y + 2}" width="{length:.0f}" height="20" rx="2"/>'
                         f'<text x="{left + length + 8:.0f}" y="{y + 16}">{value:,.0f}'
                         f' · {median(seen[name]["cpu_us"]):.1f} µs CPU</text>')
            y += row
        y += 22
    lines.append(f'<text class="quiet" x="0" y="{y - 2}" font-size="11">{caption}</text></svg>')
    head = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {y + 6}" role="img" '
            f'aria-label="requests per second" font-family="system-ui, sans-serif" font-size="13">',
            "<style>text{fill:#24292f}.bar{fill:#8c959f}.own{fill:#1f6feb}.quiet{fill:#57606a}"
            "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.bar{fill:#6e7681}.own{fill:#58a6ff}"
            ".quiet{fill:#8b949e}}</style>"]
    return "\n".join(head + lines) + "\n"
