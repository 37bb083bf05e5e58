# SPDX-FileCopyrightText: 2026 the rbd_ros developers
# SPDX-License-Identifier: Apache-2.0

"""The program that runs the C code of a controller on a file of events."""

from __future__ import annotations

from collections.abc import Sequence

from rbd_ros.compiler.source.c_structs import Place
from rbd_ros.quoting import in_comment

__all__ = ['c_main']

_MAIN = r"""/*
 * Runs the controller of the robot "{robot}" on recorded input.
 *
 *     main EVENTS [FIELD ...]
 *
 * EVENTS is a text of
 *     NAME NUMBER ...                     numbers of a field, which it keeps until it gets others
 *     step                                lets the event u happen
 *     expect NAME TOLERANCE NUMBER ...    what a field must be after that
 *     # comment
 * Fields are those of the structs in {prefix}.h: u.now, u.q, p.mode, x.command.supervisor.state.
 * An array gets all of its numbers at once; y.words[3] is one of them. After each step the FIELDs
 * are printed, by default time, kind of event, state, whether a torque is to be sent, and the
 * torque. The exit code is 1 if something was not as expected, and 2 if the input cannot be read.
 *
 * A robot is driven in the same way: {prefix}_init once, then for each message, each request
 * and a timer fill memory.u, call {prefix}_step, and send memory.y.torque if memory.y.send is 1.
 */
#include "{prefix}.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct {{
    const char *name;
    int first; /* place of its first number in the memory */
    int count;
}} field;

static const field fields[] = {{
{fields}
}};

static const char *const usual[] = {{"u.now", "u.kind", "x.command.supervisor.state", "y.send",
                                    "y.torque"}};

typedef struct {{
    const field *of;
    int begin; /* the first of its numbers that is meant */
    int end;
}} part;

static {prefix}_memory memory;

/* Find a field, or one of its numbers; 0: there is none. */
static int find(const char *name, part *found)
{{
    const size_t length = strcspn(name, "[");
    size_t k;

    for (k = 0; k < sizeof fields / sizeof fields[0]; ++k) {{
        if (strncmp(fields[k].name, name, length) == 0 && fields[k].name[length] == '\0') {{
            found->of = &fields[k];
            found->begin = 0;
            found->end = fields[k].count;
            if (name[length] == '\0') {{ return 1; }}
            if (sscanf(name + length, "[%d]", &found->begin) == 1 && found->begin >= 0
                && found->begin < found->end) {{
                found->end = found->begin + 1;
                return 1;
            }}
        }}
    }}
    fprintf(stderr, "there is no field \"%s\", see {prefix}.h\n", name);
    return 0;
}}

static double *numbers_of(const part *found)
{{
    return (double *)&memory + found->of->first;
}}

/* Read the numbers of a field; 0: they are not all there. */
static int take(FILE *file, const part *found)
{{
    int k;

    for (k = found->begin; k < found->end; ++k) {{
        if (fscanf(file, "%lf", numbers_of(found) + k) != 1) {{
            fprintf(stderr, "%s needs %d numbers\n", found->of->name,
                    found->end - found->begin);
            return 0;
        }}
    }}
    return 1;
}}

/* Say whether both are the same number, or neither is one. */
static int same(double one, double other)
{{
    return one == other || (isnan(one) && isnan(other));
}}

/* Compare the numbers of a field; -1: they are not all there, else how many differ. */
static int compare(FILE *file, const part *found, long steps, double *worst)
{{
    double tolerance, expected, number, error;
    int k, wrong = 0;

    if (fscanf(file, "%lf", &tolerance) != 1) {{ return -1; }}
    for (k = found->begin; k < found->end; ++k) {{
        if (fscanf(file, "%lf", &expected) != 1) {{
            fprintf(stderr, "%s needs a tolerance and %d numbers\n", found->of->name,
                    found->end - found->begin);
            return -1;
        }}
        number = numbers_of(found)[k];
        error = same(number, expected) ? 0.0 : fabs(number - expected);
        if (tolerance > 0.0 && error > *worst * tolerance) {{ *worst = error / tolerance; }}
        if (!(error <= tolerance)) {{
            fprintf(stderr, "step %ld: %s[%d] is %.17g, not %.17g\n", steps, found->of->name, k,
                    number, expected);
            ++wrong;
        }}
    }}
    return wrong;
}}

static void print(const part *found)
{{
    int k;

    for (k = found->begin; k < found->end; ++k) {{ printf("%.17g ", numbers_of(found)[k]); }}
}}

int main(int count, char **words)
{{
    const char *const *shown = count > 2 ? (const char *const *)(words + 2) : usual;
    const int many = count > 2 ? count - 2 : (int)(sizeof usual / sizeof usual[0]);
    part found;
    char word[128];
    double worst = 0.0;
    long steps = 0, compared = 0, different = 0;
    int k, wrong;
    FILE *file;

    if (count < 2 || (file = fopen(words[1], "r")) == NULL) {{
        fprintf(stderr, "usage: %s EVENTS [FIELD ...], EVENTS a file\n", words[0]);
        return 2;
    }}
    for (k = 0; k < many; ++k) {{
        if (!find(shown[k], &found)) {{ return 2; }}
    }}
    {prefix}_init(&memory);
    while (fscanf(file, "%127s", word) == 1) {{
        if (word[0] == '#') {{
            while ((k = getc(file)) != '\n' && k != EOF) {{ }}
        }} else if (strcmp(word, "step") == 0) {{
            {prefix}_step(&memory);
            ++steps;
            for (k = 0; k < many; ++k) {{
                find(shown[k], &found);
                print(&found);
            }}
            printf("\n");
        }} else if (strcmp(word, "expect") == 0) {{
            if (fscanf(file, "%127s", word) != 1 || !find(word, &found)) {{ return 2; }}
            wrong = compare(file, &found, steps, &worst);
            if (wrong < 0) {{ return 2; }}
            compared += found.end - found.begin;
            different += wrong;
        }} else if (!find(word, &found) || !take(file, &found)) {{
            return 2;
        }}
    }}
    fclose(file);
    fprintf(stderr, "%ld steps, %ld numbers compared, %ld different, largest difference %.3g of "
            "its tolerance\n", steps, compared, different, worst);
    return different != 0;
}}
"""


def c_main(robot: str, prefix: str, places: Sequence[Place], known: Sequence[str]) -> str:
    """
    Return the source of the program.

    :param robot: name of the robot.
    :param prefix: of every name in the C code.
    :param places: members of the memory in their order.
    :param known: members whose fields it knows by name.
    """
    lines, first = [], 0
    for place in places:
        at = first
        if place.record is not None and place.name in known:
            for path, _, view in place.record.walk(f'{place.name}.'):
                if view.size:
                    lines.append(f'    {{"{path}", {at}, {view.size}}},')
                at += view.size
        first += place.numbers.size
    return _MAIN.format(robot=in_comment(robot), prefix=prefix, fields='\n'.join(lines))
