"""HTTP that foreign machines may speak to: aiohttp behind a door that bounds connections, time and size.

`HttpServer` runs it in a thread of its own. What a request means is not known here.
"""
