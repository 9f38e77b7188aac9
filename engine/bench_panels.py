"""The prompts that `slipstream bench` measures, by how much of the answer stands in the prompt.

Chosen so that the starter does what it is asked; a larger model does so without choosing.
"""

from engine.bench import Panel

_LETTER = (
    "Dear Anna, thank you for your letter. We arrived in Lisbon on Tuesday evening. The hotel is "
    "small and quiet. Every morning we walk to the river and drink coffee. On Friday we will take"
    " the train to Porto. We hope to see you soon."
)
_MUSEUM = (
    "The museum opens at ten in the morning and closes at six in the evening. Visitors can leave "
    "their coats and bags at the entrance. Photographs are allowed in all rooms, but please do "
    "not use a flash. The cafe on the first floor serves soup, sandwiches and cake. Guided tours "
    "start every hour in front of the clock. Children under twelve years may enter for free when "
    "they come with an adult. The garden is open from April to October."
)
_LIGHTHOUSE = (
    "The lighthouse keeper climbed the spiral stairs every evening at dusk. He carried a small "
    "brass lantern, a tin of oil and a folded cloth. At the top he cleaned the great lens, filled"
    " the lamp and lit the wick."
)
_TRAIN = (
    "The train to the coast leaves at nine oclock in the morning. Pasengers should be on the "
    "platform ten minutes befor it leaves. Tickets can be bought at the station or on the train. "
    "Bicycles travel in the last wagon."
)
_HOUSE = (
    "Tom lives in a small house by the river. Every morning Tom feeds the ducks. In the evening "
    "Tom reads a book by the fire. On Sundays Tom visits his grandmother in the next village."
)
_PRICES = """- apples 3 euros
- bread 2 euros
- cheese 9 euros
- butter 4 euros
- milk 1 euro
- coffee 7 euros"""
_AVERAGE = """```python
def average(values):
    total = 0
    count = 0
    for value in values:
        total += value
        count += 1
    return total / count
```"""
_COUNTER = """```python
class Counter:
    def __init__(self):
        self.count = 0

    def increment(self):
        self.count += 1

    def decrement(self):
        self.count -= 1

    def reset(self):
        self.count = 0

counter = Counter()
counter.increment()
print(counter.count)
```"""

# The aims are those of this project for the starter on a CPU; they are no promise for other models.
PANELS = (
    Panel(
        "copy",
        3.0,
        (
            f"Repeat the text between the lines word for word and then stop.\n---\n{_LETTER}\n---",
            f"Repeat the text between the lines word for word and then stop.\n---\n{_MUSEUM}\n---",
            f"Repeat the following text exactly:\n\n{_COUNTER}",
        ),
    ),
    Panel(
        "copy-heavy",
        1.5,
        (
            f"Change the name Tom to Ben in this text:\n\n{_HOUSE}",
            f"Fix the spelling mistakes and write the whole text again:\n\n{_TRAIN}",
            f"Quote the first two sentences of this text:\n\n{_LIGHTHOUSE}",
            f"Sort this list by price and write it again:\n\n{_PRICES}",
            f"Write this function again with a docstring:\n\n{_AVERAGE}",
        ),
    ),
    Panel(
        "code-twice",
        1.15,
        (
            "Write a Python function that adds two numbers. "
            "Then write the same function again with type hints.",
            "Write a Python function that multiplies two numbers. "
            "Then write the same function again with a docstring.",
            "Write a Python function is_even(n). Then write a function is_odd(n) in the same way.",
        ),
    ),
    Panel(
        "prose",
        0.98,
        (
            "Why is the sky blue?",
            "Describe how bread is made, from the field to the table.",
            "What is the difference between a comet and an asteroid?",
        ),
    ),
)
