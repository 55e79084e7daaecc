"""Extension functions of the contract."""

from datetime import datetime

import comity


@comity.extension(takes=("timestamp",), gives="string", total=True)
def time_conv(moment: datetime) -> str:
    """A time of day as people say it: 1:27 pm."""
    hour = moment.hour % 12 or 12
    return f"{hour}:{moment.minute:02} {'am' if moment.hour < 12 else 'pm'}"
