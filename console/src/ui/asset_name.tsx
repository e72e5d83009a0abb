/** The name of an asset, loaded by its id. */

import { api, call } from "../api.js";
import { useResource } from "../resource.js";

export function AssetName({ id }: { id: string }) {
  const load = () => call(api.GET("/v1/assets/{asset_id}", { params: { path: { asset_id: id } } }));
  const { data, error } = useResource(`asset:${id}`, load);
  return <>{data.value?.name ?? (error.value === undefined ? "…" : id)}</>;
}
