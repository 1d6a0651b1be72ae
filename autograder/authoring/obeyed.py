"""Which laws of an exercise speak in a case: those that the reference's own answer obeys there."""

from autograder.shared.laws import LAWS

NOT_SPOKEN_OF = (KeyError, TypeError, ValueError, IndexError, AttributeError)


def laws_obeyed(laws, inputs, expected, returns):
    """Return the laws that an observed answer obeys, in order.

    Args:
        laws: each the name of a law and its arguments.
        inputs: of the case, as plain values.
        expected: what a probe observed of the reference.
        returns: names of the returned values, where there are several.
    """
    if not laws or "result" not in expected:
        return ()
    result = expected["result"]
    named = isinstance(result, tuple) and len(returns) == len(result)
    parts = dict(zip(returns, result, strict=True)) if named else {"the result": result}
    results = {**parts, **expected.get("noted", {})}
    given = inputs.get("forward", inputs)
    return tuple(law for law in laws if is_obeyed(law, given, results))


def is_obeyed(law, inputs, results):
    """Return whether results obey a law; False where it does not speak of such results."""
    name, arguments = law
    try:
        return LAWS[name](inputs, results, **arguments) is None
    except NOT_SPOKEN_OF:
        return False
