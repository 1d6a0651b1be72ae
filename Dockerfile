# The grader in a container, for machines that have no bubblewrap of their own. The book's page on the sandbox shows how to run it.
FROM python:3.13-slim
RUN apt-get update -qq \
    && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends bubblewrap make git \
    && rm -rf /var/lib/apt/lists/*
WORKDIR /attention
COPY requirements.txt pyproject.toml Makefile ./
COPY .ci .ci
COPY autograder autograder
COPY solutions solutions
COPY book book
COPY notebooks notebooks
COPY _toc.yml _config.yml nbgrader_config.py README.md LICENSE ./
RUN make setup
ENTRYPOINT [".venv/bin/python", "-m", "autograder"]
