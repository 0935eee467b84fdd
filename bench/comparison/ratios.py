"""The table of ratios in docs/performance.md: a row for each ratio that latchkey must keep, a column for each machine on which they
were measured. A run replaces the cells of its machine for the works that it measured, and leaves the others."""
import datetime
import os

from comparison import report

page = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))), "docs/performance.md")
begin, end = "<!-- ratios: bench/compare --machine -->\n", "<!-- end of the ratios -->\n"


def cells_of(line):
    return [cell.strip() for cell in line.strip().strip("|").split("|")]


def read(text):
    """The names of the machines, and for each ratio a dictionary: what is wanted, and by machine what was measured."""
    lines = text.splitlines()
    if not lines:
        return [], {}
    machines = cells_of(lines[0])[2:]
    rows = {}
    for line in lines[2:]:
        name, wanted, *measured = cells_of(line)
        rows[name] = {"wanted": wanted, **dict(zip(machines, measured))}
    return machines, rows


def write(machines, rows):
    lines = ["| ratio | wanted | " + " | ".join(machines) + " |", "|---|---:|" + "---:|" * len(machines)]
    lines += [f"| {name} | {row['wanted']} | " + " | ".join(row.get(each) or "–" for each in machines) + " |"
              for name, row in rows.items()]
    return "\n".join(lines) + "\n"


def add(machine, works, everything):
    """Puts the medians of the rounds' ratios into the column of `machine`, each with the lowest and the highest and its date."""
    with open(page) as file:
        before, rest = file.read().split(begin)
    table, after = rest.split(end)
    machines, rows = read(table)
    if machine not in machines:
        machines.append(machine)
    for work in (each for each in works if each.name in everything):
        for target in work.targets:
            ratios = sorted(report.ratios_of_rounds(target, everything[work.name]))
            if not ratios:
                continue
            row = rows.setdefault(f"{work.title}: {target.text}", {})
            row["wanted"] = f"{'≤' if target.most else '≥'} {target.bound:g}"
            row[machine] = f"{report.median(ratios):.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}), {datetime.date.today()}"
    with open(page, "w") as file:
        file.write(before + begin + write(machines, rows) + end + after)
