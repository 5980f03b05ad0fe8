import { randomUUID } from 'node:crypto';
import type { AwsAnswer, AwsRequest, Protocol } from './service.ts';
import { element, type XmlContent } from './xml.ts';

/** Form in, XML out: the operation and its input are parameters, of the body or, in a presigned URL, of the query. */
export function queryProtocol(shape: 'aws' | 'ec2'): Protocol<URLSearchParams> & {
  answer(action: string, content: { readonly [name: string]: XmlContent | undefined }): AwsAnswer;
} {
  return {
    read(request) {
      const input = parameters(request);
      return { action: input.get('Action') ?? '', input };
    },
    refuse({ status, code, message }) {
      const error = { Code: code, Message: message };
      return shape === 'ec2'
        ? xmlAnswer('Response', { Errors: { Error: error }, RequestID: randomUUID() }, status)
        : xmlAnswer('ErrorResponse', { Error: { Type: 'Sender', ...error }, RequestId: randomUUID() }, status);
    },
    answer: (action, content) =>
      shape === 'ec2'
        ? xmlAnswer(`${action}Response`, { requestId: randomUUID(), ...content })
        : xmlAnswer(`${action}Response`, {
            [`${action}Result`]: content,
            ResponseMetadata: { RequestId: randomUUID() },
          }),
  };
}

export function xmlAnswer(name: string, content: XmlContent, status = 200): AwsAnswer {
  const body = `<?xml version="1.0" encoding="UTF-8"?>\n${element(name, content)}`;
  return { status, headers: { 'content-type': 'text/xml;charset=UTF-8' }, body };
}

/** The values of `<name>.1`, `<name>.2` and so on, in this order. */
export function numbered(input: URLSearchParams, name: string): string[] {
  const values: string[] = [];
  for (let index = 1; ; index += 1) {
    const value = input.get(`${name}.${index}`);
    if (value === null) return values;
    values.push(value);
  }
}

function parameters({ method, url, body }: AwsRequest): URLSearchParams {
  return method === 'GET' ? url.searchParams : new URLSearchParams(body.toString('utf8'));
}
