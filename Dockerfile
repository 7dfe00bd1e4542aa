FROM python:3.13-slim
WORKDIR /doxa
COPY requirements/runtime.txt requirements/
RUN pip install --no-cache-dir --require-hashes -r requirements/runtime.txt
COPY . .
RUN pip install --no-cache-dir --no-deps --no-build-isolation . ./client \
 && useradd --create-home doxa
USER doxa
CMD ["doxa", "serve"]
