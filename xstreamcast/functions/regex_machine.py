"""A machine for regular expressions whose work is bounded: it goes back as Python's ``re`` does, but never twice to the
same place in the same state.

Without references back, what follows from a place and a state does not depend on how they were reached: having failed
once they fail always, so that a note of them makes the work O(length of the program × length of the text), over all
matches in a text. The first way that succeeds is the one that ``re`` would find, with the same groups. With references
back there are no notes, and the caller bounds the steps.
"""

from __future__ import annotations

from xstreamcast.native.kernel import I64, U8, I64x2, kernel

# Instructions: an operation and two operands.
CHARACTER, SPLIT, JUMP, SAVE, ENTER, LEAVE, BEGIN, LINE_BEGIN, END, LINE_END, BACK, FOUND = range(12)
# Registers between calls.
PC, POSITION, TOP, START, STEPS = range(5)
REGISTERS = 5
# Why it stopped.
MATCHED, NOTHING, PAUSED, FULL = range(4)


@kernel
def advance(
    program: I64x2,
    sets: U8,
    width: int,
    text: I64,
    folded: I64,
    slots: I64,
    stack: I64,
    notes: U8,
    registers: I64,
    most: int,
) -> int:
    """Go on until there is a match, or none, or ``most`` steps have been made, or the stack is full.

    ``program``: rows (operation, operand, operand, note, loops) where a note is -1 or a place among the notes of a
    position, and ``loops`` the number of loops around whose body may be empty; ``sets[k * width + c]``: whether set k
    has class c; ``slots``: where groups begin and end, then where the iterations of such loops began.
    """
    pc, i, top, start = registers[PC], registers[POSITION], registers[TOP], registers[START]
    n, room, groups, row = text.shape[0], stack.shape[0] - 8, registers[REGISTERS], registers[REGISTERS + 1]
    steps = 0
    status = PAUSED
    while steps < most:
        steps += 1
        if top > room:
            status = FULL
            break
        op, x, y = program[pc, 0], program[pc, 1], program[pc, 2]
        failed = False
        if op == CHARACTER:
            if i < n and sets[x * width + text[i]] != 0:
                i += 1
                pc += 1
            else:
                failed = True
        elif op == SPLIT:
            note = program[pc, 3]
            if note >= 0:
                for loop in range(program[pc, 4]):
                    if slots[groups + loop] != i:
                        note += 1 << loop
                at = i * row + note
                if notes[at >> 3] & (1 << (at & 7)) != 0:
                    failed = True
                else:
                    notes[at >> 3] |= 1 << (at & 7)
            if not failed:
                stack[top] = y
                stack[top + 1] = i
                top += 2
                pc = x
        elif op == JUMP:
            pc = x
        elif op in (SAVE, ENTER):
            stack[top] = -1 - x
            stack[top + 1] = slots[x]
            top += 2
            slots[x] = i
            pc += 1
        elif op == LEAVE:
            pc = y if slots[x] == i else pc + 1
        elif op == BEGIN:
            failed = i != 0
            pc += 1
        elif op == END:
            failed = i != n
            pc += 1
        elif op == LINE_BEGIN:
            failed = not (i == 0 or (i < n and folded[i - 1] == 10))
            pc += 1
        elif op == LINE_END:
            failed = not (i == n or folded[i] == 10)
            pc += 1
        elif op == BACK:
            first, last = slots[2 * x], slots[2 * x + 1]
            if first >= 0 and last >= 0:
                size = last - first
                if i + size > n:
                    failed = True
                else:
                    for k in range(size):
                        if folded[first + k] != folded[i + k]:
                            failed = True
                            break
                    steps += size
                if not failed:
                    i += size
            pc += 1
        else:
            slots[1] = i
            for note in range(row):  # the ways through here have not all been tried
                at = i * row + note
                notes[at >> 3] &= 255 - (1 << (at & 7))
            status = MATCHED
            break
        if failed:
            going = False
            while top > 0 and not going:
                top -= 2
                if stack[top] < 0:
                    slots[-1 - stack[top]] = stack[top + 1]
                else:
                    pc, i = stack[top], stack[top + 1]
                    going = True
            if not going:
                start += 1
                if start > n:
                    status = NOTHING
                    break
                for k in range(slots.shape[0]):
                    slots[k] = -1
                slots[0] = start
                pc, i = 0, start
    registers[PC], registers[POSITION], registers[TOP], registers[START] = pc, i, top, start
    registers[STEPS] += steps
    return status
