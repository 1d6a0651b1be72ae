# A machine of its own for one hub, made of this one in namespaces (`unshare --mount --pid`): what a
# hub writes lies in $PLACE, its users are in a copy of /etc, and all that it starts ends with it.
set -eu
mkdir "$PLACE/srv" "$PLACE/home"
cp -a /etc "$PLACE/etc"
for each in srv home etc; do mount --bind "$PLACE/$each" "/$each"; done
for name in $ACCOUNTS; do useradd --create-home --shell /bin/bash "$name"; done

# what The Littlest JupyterHub's installer would bring
"$PYTHON/bin/python3" -m venv /srv/env
PATH=/srv/env/bin:$PATH
python "$COURSE/.ci/install" "$COURSE/tests/hub/requirements.txt"
echo 'PATH=/srv/env/bin:$PATH' > /etc/profile.d/hub.sh  # in terminals, too
npm install --silent --no-fund --no-audit --prefix /srv/proxy configurable-http-proxy@5.3.0

# root needs no password, and the programs are there
sudo() { case $1 in apt-get) ;; *) "$@" ;; esac; }
printf '[safe]\n\tdirectory = *\n' > /etc/gitconfig  # the course comes from somebody else's folder
. "$PLACE/administrator.sh"

mkdir /srv/hub && cd /srv/hub
eval "$PYTHON_FOR_EVERYBODY"
exec jupyterhub --config "$COURSE/tests/hub/jupyterhub_config.py"
