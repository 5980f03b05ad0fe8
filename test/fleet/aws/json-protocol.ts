import { AwsFault } from './aws-fault.ts';
import type { AwsAnswer, AwsRequest, Protocol } from './service.ts';

export function jsonAnswer(
  body: unknown,
  status = 200,
  headers: Readonly<Record<string, string>> = {},
  contentType = 'application/json',
): AwsAnswer {
  return { status, headers: { 'content-type': contentType, ...headers }, body: JSON.stringify(body) };
}

/**
 * awsJson1.1: the operation in `x-amz-target`, input and output in the body.
 *
 * @typeParam Input every member of the input of every operation. Nothing checks it: the callers are clients of the SDK.
 */
export function awsJson<Input>(): Protocol<Input> & { answer(body: unknown): AwsAnswer } {
  const contentType = 'application/x-amz-json-1.1';
  return {
    read: ({ headers, body }) => ({
      action: String(headers['x-amz-target']).replace(/^.*\./, ''),
      input: jsonBody(body),
    }),
    refuse: ({ status, code, message }) =>
      jsonAnswer({ __type: `com.amazonaws#${code}`, message }, status, {}, contentType),
    answer: (body) => jsonAnswer(body, 200, {}, contentType),
  };
}

/** restJson1: the operation in method and path, errors in `x-amzn-errortype`. */
export function restJson<Input>(read: (request: AwsRequest) => ReturnType<Protocol<Input>['read']>): Protocol<Input> {
  return { read, refuse: ({ status, code, message }) => jsonAnswer({ message }, status, { 'x-amzn-errortype': code }) };
}

function jsonBody(body: Buffer) {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    throw new AwsFault(400, 'SerializationException', 'The body is not JSON');
  }
}
