/** A refusal of an AWS service. Each service writes it in the shape of its own protocol. */
export class AwsFault extends Error {
  override readonly name = 'AwsFault';
  readonly status: number;
  /** What the service calls it: `ResourceNotFoundException`. */
  readonly code: string;
  /** What it was called in the Query protocol, where SQS still says so. */
  readonly queryCode: string;

  constructor(status: number, code: string, message: string, queryCode = code) {
    super(message);
    this.status = status;
    this.code = code;
    this.queryCode = queryCode;
  }
}
