/** Platform functions for browsers. Browsers have no paths, and only XMLHttpRequest reports upload progress. */

/** The origin of the page, with its session instead of an API key. */
export const defaults = { url: location.origin, apiKey: undefined };

export async function openFile(_path: string): Promise<never> {
  throw new TypeError("a path works only in Node.js: pass a File");
}

export async function saveFile(): Promise<never> {
  throw new TypeError("a path works only in Node.js: omit it and use the returned Blob");
}

/** Sends a form and reports the number of bytes sent so far. */
export function sendForm(request: Request, form: FormData, report: (sent: number) => void): Promise<Response> {
  return new Promise((resolve, reject) => {
    const xhr = new XMLHttpRequest();
    xhr.open(request.method, request.url);
    const authorization = request.headers.get("authorization");
    if (authorization !== null) xhr.setRequestHeader("authorization", authorization);
    xhr.upload.onprogress = ({ loaded }) => report(loaded);
    xhr.onload = () => {
      const retryAfter = xhr.getResponseHeader("retry-after");
      const headers = new Headers(retryAfter === null ? {} : { "retry-after": retryAfter });
      resolve(new Response(xhr.responseText, { status: xhr.status, headers }));
    };
    xhr.onerror = () => reject(new TypeError("the connection was lost"));
    xhr.onabort = () => reject(request.signal.reason);
    request.signal.addEventListener("abort", () => xhr.abort(), { once: true });
    xhr.send(form);
  });
}
