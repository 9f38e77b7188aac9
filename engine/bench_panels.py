"""The prompts that `slipstream bench` measures, by how much of the answer stands in the prompt."""

from engine.bench import Panel

_LIGHTHOUSE = (
    "The lighthouse keeper climbed the spiral stairs every evening at dusk. He carried a "
    "small brass lantern, a tin of oil and a folded cloth. At the top he cleaned the great "
    "lens, filled the lamp and lit the wick."
)
_TRAIN = (
    "The train to the coast leaves at nine oclock in the morning. Pasengers should be on the "
    "platform ten minutes befor it leaves. Tickets can be bought at the station or on the "
    "train. Bicycles travel in the last wagon."
)
_DOG = (
    "The old dog slept near the stove. When the rain stopped, the dog got up, stretched and "
    "walked to the door. The girl opened the door for the dog and they went into the wet "
    "garden together. The dog found a ball under the hedge and carried it back to the house."
)
_LIST = "- milk\n- eggs\n- bread\n- two apples\n- a bag of flour\n- olive oil\n- tomatoes"
_FUNCTION = """```python
def average(values):
    total = 0
    count = 0
    for value in values:
        total += value
        count += 1
    return total / count
```"""

# The aims are those of this project for the starter on a CPU; they are no promise for other models.
PANELS = (
    Panel(
        "copy",
        3.0,
        (f"Repeat the following text exactly, word for word:\n\n{_LIGHTHOUSE}",),
    ),
    Panel(
        "copy-heavy",
        1.5,
        (
            f'Rewrite this text and replace the word "dog" by "cat":\n\n{_DOG}',
            f"Quote the first two sentences of this text:\n\n{_LIGHTHOUSE}",
            f'Add "butter" to this shopping list and write the whole list:\n\n{_LIST}',
            f"Write this function again with a docstring:\n\n{_FUNCTION}",
            f"Fix the spelling mistakes and write the whole text again:\n\n{_TRAIN}",
        ),
    ),
    Panel(
        "code-twice",
        1.15,
        (
            "Write a Python function that adds two numbers. "
            "Then write the same function again with type hints.",
            "Write a Python class Stack with the methods push, pop and peek. "
            "Then write the whole class again with a docstring for each method.",
        ),
    ),
    Panel(
        "prose",
        0.98,
        (
            "Why is the sky blue?",
            "Describe how bread is made, from the field to the table.",
            "Write a letter to a friend about a week by the sea.",
        ),
    ),
)
