"""A hub as small as one can be: local accounts, and one password for all of them."""

import os

c = get_config()  # noqa: F821  (JupyterHub provides it)

port, hub_port, proxy_port = os.environ["PORTS"].split()
c.JupyterHub.bind_url = f"http://127.0.0.1:{port}"
c.JupyterHub.hub_port = int(hub_port)
c.ConfigurableHTTPProxy.api_url = f"http://127.0.0.1:{proxy_port}"
c.ConfigurableHTTPProxy.command = ["/srv/proxy/node_modules/.bin/configurable-http-proxy"]
c.JupyterHub.authenticator_class = "dummy"
c.DummyAuthenticator.password = "attention"
c.Authenticator.allow_all = True
c.Spawner.default_url = "/lab"
c.Spawner.http_timeout = c.Spawner.start_timeout = 120
c.Spawner.environment = {"OMP_NUM_THREADS": "1"}
