"""What the profiles of a federation can cost in matching: a composite one as much as all its operands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING

from comity.errors import ComityError, Faults, Misuse, Place
from comity.event.types import AttributeType
from comity.expression.tree import attributes
from comity.federation.model import CompositeSubscription, Federation, Subscription

if TYPE_CHECKING:
    from comity.match.cost import ProfileCost


def cost_of(profile: Subscription | CompositeSubscription) -> ProfileCost:
    """The worst cost of a profile."""
    from comity.match.cost import profile_cost, summed  # the index behind it is compiled code, which takes a while

    return summed(profile_cost(one.tree, _types(one)) for one in subscriptions_of(profile))


def check_costs(federation: Federation, names: Iterable[str]) -> Mapping[str, ProfileCost]:
    """The costs of profiles; raises `Faults` with those of which one costs too much, or one of its operands does."""
    from comity.match.cost import check_profile_cost

    found, faults = dict[str, "ProfileCost"](), list[ComityError]()
    for name in names:
        profile = federation.profiles.get(name) or federation.composites[name]
        for one in subscriptions_of(profile):
            try:
                check_profile_cost(one.tree, _types(one))
            except Misuse as error:
                error.place = Place(path=one.name)
                faults.append(error)
        found[name] = cost_of(profile)
    if faults:
        raise Faults(faults)
    return found


def subscriptions_of(profile: Subscription | CompositeSubscription) -> tuple[Subscription, ...]:
    """What a profile subscribes to."""
    return profile.operands if isinstance(profile, CompositeSubscription) else (profile,)


def _types(profile: Subscription) -> dict[tuple[str, ...], AttributeType]:
    known = {path: profile.type.attribute_at(path) for path in attributes(profile.tree)}
    return {path: declared for path, declared in known.items() if declared is not None}
