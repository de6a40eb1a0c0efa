# The app alone: docker build -t djnet . && docker run --rm -v ~/Music:/music djnet medley /music -o /music/medley.mp3
FROM python:3.13-slim
COPY . /source
RUN pip install --no-cache-dir '/source[formats]' && rm -r /source && useradd --create-home --uid 1000 listener
USER listener
WORKDIR /music
ENTRYPOINT ["djnet"]
CMD ["--help"]
