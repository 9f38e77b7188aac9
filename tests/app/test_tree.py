from hypothesis import given
from hypothesis import strategies as st

from app.tree import Node, Place, Tree


def tree(*nodes, chosen=None):
    return Tree([Node(*node) for node in nodes], chosen)


def test_that_an_empty_conversation_has_an_empty_branch():
    assert tree().branch() == []


def test_that_the_newest_alternative_is_shown_unless_another_was_chosen():
    nodes = [(1, None, None), (2, 1, None), (3, 1, None)]
    assert tree(*nodes).branch() == [Place(1, None, 1, 1), Place(3, 1, 2, 2)]
    nodes[0] = (1, None, 2)
    assert tree(*nodes).branch() == [Place(1, None, 1, 1), Place(2, 1, 1, 2)]


def test_that_a_chosen_root_is_shown_with_what_was_chosen_below_it():
    nodes = [(1, None, None), (2, 1, None), (3, None, 4), (4, 3, None), (5, 3, None)]
    assert [p.id for p in tree(*nodes, chosen=3).branch()] == [3, 4]
    assert [p.id for p in tree(*nodes, chosen=1).branch()] == [1, 2]


def test_that_a_choice_which_is_gone_falls_back_to_the_newest():
    assert [p.id for p in tree((1, None, 99), (2, 1, None), chosen=77).branch()] == [1, 2]


def test_that_the_sibling_beside_ends_at_the_ends():
    three = tree((1, None, None), (2, 1, None), (3, 1, None), (4, 1, None))
    assert [three.beside(3, step) for step in (-2, -1, 0, 1, 2)] == [None, 2, 3, 4, None]


def test_that_a_message_with_a_lost_parent_hangs_below_the_one_before_it():
    broken = tree((1, None, None), (4, 3, None), (5, 4, None))
    assert [p.id for p in broken.branch()] == [1, 4, 5]


@given(st.data())
def test_that_whatever_parents_say_every_message_has_a_path_from_a_root(data):
    count = data.draw(st.integers(1, 12))
    any_id = st.none() | st.integers(-2, 14)
    nodes = [Node(i + 1, data.draw(any_id), data.draw(any_id)) for i in range(count)]
    made = Tree(nodes, data.draw(any_id))
    for node in nodes:
        path = made.path_to(node.id)
        assert path[0].parent is None
        assert [p.id for p in path] == sorted({p.id for p in path})
        assert path[-1].id == node.id
    assert made.branch()
    for place in made.branch():
        assert 1 <= place.position <= place.alternatives
